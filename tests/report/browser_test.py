#!/usr/bin/env python3
"""Does a report's page work in a browser: no script error, an answer that its data bear out, every picture drawn, tables that keys can order, a
cell that can be chosen, and a decent PDF? browser_test.py COSCHED [unittest args]. COSCHED_SCREENSHOTS=FOLDER keeps what it saw.
browser_test.py COSCHED --open-times prints how long reports of a few and of many cells take until the browser has drawn them."""
import base64
import json
import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait
except ImportError:
    webdriver = None

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from simulated_experiment import ROOT, Cosched, experiment  # noqa: E402

BINARY = None  # Given on the command line.
# A service alone, which one core cannot keep up with.
SERVED = f"""name = "served"
backend = "simulated"
trials = 7
policies = ["one-core", "four-cores"]
elasticity = ["malleable"]
[machine]
topology = "core:4 pu:1"
profile = "{ROOT}/experiments/profiles/example.json"
[simulation]
noise = 0.05
[services]
window_s = 1
[policy.one-core]
use = "static-shares"
amount = 1
[policy.four-cores]
use = "static-shares"
amount = 4
[[trace.requests]]
count = 60
gap = {{ distribution = "exponential", mean_s = 0.06 }}
work = 40
start_s = 1.0
[[workload]]
name = "recognizer"
model = "resnet20"
mode = "serve"
max_batch = 1
slo_ms = 300
sla_ms = 200
cores = {{ min = 1, preferred = 4, max = 4 }}
"""


def why_not():
    if webdriver is None:
        return "needs python3-selenium"
    missing = [program for program in ("chromium", "chromedriver") if not shutil.which(program)]
    return f"needs {', '.join(missing)} (chromium, chromium-driver)" if missing else ""


def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1600"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options)


def change_page(page, out, change):
    """Writes a page anew with its data as change(data) leaves them."""
    text = page.read_text(encoding="utf-8")
    begin = text.index('id="data">') + len('id="data">')
    end = text.index("</script>", begin)
    data = json.loads(text[begin:end])
    change(data)
    out.write_text(text[:begin] + json.dumps(data).replace("<", "\\u003c") + text[end:], encoding="utf-8")


def write_cell(folder, **members):
    file = folder / "cell.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **members}))


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.browser = browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.cosched = Cosched(BINARY, cls.folder, name="reported", trials=9)
        cls.run_folder = cls.cosched.run()
        cls.cosched("report", cls.run_folder, "--out", cls.folder / "reported.html")

    def open(self, name, *runs, options=()):
        self.cosched("report", *runs, "--out", self.folder / f"{name}.html", *options)
        return self.show(name)

    def open_changed(self, name, change, errors=0):
        """The report of the whole run, with its data as change(data, side) leaves them, side that of its only comparison."""
        def change_side(data):
            [side] = data["sections"][0]["comparison"]["sides"]
            change(data, side)
        change_page(self.folder / "reported.html", self.folder / f"{name}.html", change_side)
        return self.show(name, errors)

    def show(self, name, errors=0):
        """errors: that its script tells of."""
        self.browser.get(f"file://{self.folder / name}.html")
        self.keep(name)
        told = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        self.assertEqual(len(told), errors, told)
        self.assertEqual(self.addresses(), [])
        self.browser.execute_script("for (const point of document.querySelectorAll('details.point')) point.open = true;")
        for picture in self.browser.find_elements(By.CSS_SELECTOR, "svg[role=img]"):
            self.assertGreater(picture.size["height"], 40)
            self.assertTrue(picture.get_attribute("aria-label"))
        return self.browser.find_element(By.ID, "report").text

    def texts(self, selector):
        return [element.text for element in self.browser.find_elements(By.CSS_SELECTOR, selector)]

    # What it fetched beside itself.
    def addresses(self):
        return self.browser.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")

    def keep(self, name):
        if folder := os.environ.get("COSCHED_SCREENSHOTS"):
            height = self.browser.execute_script("return document.documentElement.scrollHeight")
            self.browser.set_window_size(1280, min(12000, height + 120))
            self.browser.save_screenshot(f"{folder}/{name}.png")
            self.browser.set_window_size(1280, 1600)

    def test_answers_first(self):
        text = self.open("one", self.run_folder)
        order = ["Question and answer", "has the shortest makespan", "Doubts and marks", "Medians", "Differences", "Pictures", "Any cell over time",
                 "Environment", "How to repeat it"]
        places = [text.find(words, text.find("Question and answer")) for words in order]
        self.assertNotIn(-1, places, order[places.index(-1)] if -1 in places else "")
        self.assertEqual(places, sorted(places))
        self.assertIn("certain", text)
        self.assertLess(text.index("Take it with care: it is simulated: no tenant ran on hardware"), text.index("Medians", text.index("Question and answer")))
        self.assertIn("has the shortest mean turnaround", text)
        for words in ("malleable\na tenant whose threads follow", "policy: "):
            self.assertIn(words.replace("\n", " "), text.replace("\n", " "))
        self.assertIn("run x.toml --no-plots", text)
        self.assertGreaterEqual(len(self.browser.find_elements(By.CSS_SELECTOR, "svg")), 7)

    def test_gates_stand_beside_the_answer(self):
        limits = {"makespan": "max = 2", "mean_turnaround": "max = 0.001"}
        (self.folder / "gates.toml").write_text(experiment(name="gates", trials=8, tables="".join(
            f'[[gate]]\nmetric = "{metric}"\npolicy = "equal-share"\nelasticity = "malleable"\nagainst = "strict"\n{limit}\n' for metric, limit in limits.items())))
        said = self.cosched("run", "gates.toml", "--no-plots", code=1).stdout
        text = self.open("gates", self.folder / re.search(r"results: (.*)", said)[1])
        self.assertLess(text.index("1 of 2 gates fails."), text.rindex("Doubts and marks"))
        rows = [row.text for row in self.browser.find_elements(By.XPATH, "//h2[@id='gates']/following-sibling::div[1]//tbody/tr")]
        self.assertEqual(len(rows), 2)
        for row, metric, limit, verdict in zip(rows, ("makespan_s", "mean_turnaround_s"), ("≤ 2", "≤ 0.001"), ("holds", "fails")):
            self.assertRegex(row, rf"^equal-share malleable {metric} / that of strict {limit} [\d.]+ \[[\d.]+ [\d.]+\] 99.* 8 {verdict}")
        self.open("no_gates", self.run_folder)
        self.assertFalse(self.browser.find_elements(By.CSS_SELECTOR, "#gates, a[href='#gates']"))

    def test_tables_are_ordered_by_keys(self):
        self.open("keys", self.run_folder)
        head = self.browser.find_element(By.XPATH, "//th[button[text()='makespan s']]")
        column = head.find_elements(By.XPATH, "preceding-sibling::th")
        table = head.find_element(By.XPATH, "ancestor::table")
        button = head.find_element(By.TAG_NAME, "button")
        self.browser.execute_script("arguments[0].focus()", button)
        for direction in ("ascending", "descending"):
            button.send_keys(Keys.ENTER)
            self.assertEqual(head.get_attribute("aria-sort"), direction)
            cells = table.find_elements(By.CSS_SELECTOR, f"tbody td:nth-child({len(column) + 1})")
            values = [float(cell.text.split()[0]) for cell in cells]
            self.assertEqual(len(values), 4)
            self.assertEqual(values, sorted(values, reverse=direction == "descending"))

    def test_any_cell_can_be_chosen_and_tells_its_values(self):
        self.open("cell", self.run_folder)
        choice = self.browser.find_element(By.TAG_NAME, "select")
        self.assertEqual(len(choice.find_elements(By.TAG_NAME, "option")), 36)
        choice.send_keys("strict, rigid, trial 9")
        self.assertTrue(self.browser.find_elements(By.CSS_SELECTOR, "svg[aria-label*='strict, rigid, trial 9']"))
        bars = self.browser.find_elements(By.CSS_SELECTOR, "svg[aria-label^='Cores of every job'] rect[data-tip*='core']")
        self.assertGreaterEqual(len(bars), 12)
        webdriver.ActionChains(self.browser).move_to_element(bars[-1]).perform()
        self.assertIn("resnet20", self.browser.find_element(By.ID, "tip").text)
        links = [link.get_attribute("href") for link in self.browser.find_elements(By.XPATH, "//p[contains(., 'Raw rows')]/a")]
        self.assertTrue(links)
        for link in links:
            self.assertTrue(Path(link.removeprefix("file://")).exists(), link)

    def test_runs_side_by_side_and_a_sweep(self):
        other = self.cosched.run("x.toml", "--set", "trace.jobs=6")
        write_cell(other / "strict/rigid/1", marks=["other programs"])
        row = {"name": "a", "published": 1, "holds_if": {"from": 1}, "checks": "", "unit": "", "ours": None, "low": None, "high": None, "level": None,
               "trials": None, "verdict": "not supported here", "reason": ""}
        for run, figure in ((self.run_folder, "fig_a"), (other, "fig_b")):
            file = run / f"plots/{figure}.claims.json"
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps({"figure": figure, "claims": [{**row, "claim": f"what {figure} claims"}]}))
            self.addCleanup(file.unlink)
        text = self.open("two", self.run_folder, other, options=("--baseline", self.run_folder))
        claims = text[text.rindex("\nClaims\n"):text.index("Question and answer", text.rindex("\nClaims\n"))]
        for words in (f"{self.run_folder}: fig_a", "what fig_a claims", f"{other}: fig_b", "what fig_b claims"):
            self.assertIn(words, claims)
        self.assertIn("1 of 9 trials of B, strict, rigid, are marked", text)
        self.assertNotIn("trials of A, strict", text)
        self.assertIn("B against A: shorter makespan", text)
        for side in "AB":
            self.assertIn(f"{side}, malleable: each policy against equal-share", text)
        self.assertEqual(text.count("PROFILE example.json: written by hand"), 1)
        (self.folder / "sweep.toml").write_text(experiment(name="swept", tables="[sweep]\ntrace.jobs = [3, 6]"))
        text = self.open("sweep", self.cosched.run("sweep.toml", "--trials", "3"))
        for point in ("trace.jobs=3", "trace.jobs=6"):
            self.assertIn(point.split(".")[-1], text)

    def test_a_sweep_is_drawn_over_its_points(self):
        tables = "[sweep]\ntrace.jobs = [12, 3, 6]\nworkload.resnet20.steps = [10, 40]"
        (self.folder / "over.toml").write_text(experiment(name="over", tables=tables))
        run = self.cosched.run("over.toml", "--trials", "3")
        text = self.open("over", run)
        self.assertLess(text.index("Over the points of the sweep"), text.index("Question and answer"))
        panels = self.browser.find_elements(By.CSS_SELECTOR, "svg[aria-label^='makespan in s; steps = '][aria-label$='along trace.jobs']")
        self.assertEqual(len(panels), 2)
        data = self.cosched("compare", run, "--json").stdout
        points = {(point["values"]["trace.jobs"], point["values"]["workload.resnet20.steps"]): point["comparison"]["sides"][0]["treatments"]
                  for point in json.loads(data)["sweeps"][0]["points"]}
        for steps, panel in zip(("10", "40"), panels):
            marks = panel.find_elements(By.CSS_SELECTOR, ".mark")
            self.assertEqual(len(marks), 12)
            shapes = {policy: {mark.get_attribute("d") for mark in marks if mark.get_attribute("data-tip").startswith(policy)}
                      for policy in ("strict", "equal-share")}
            self.assertEqual([len(drawn) for drawn in shapes.values()], [1, 1])
            self.assertFalse(shapes["strict"] & shapes["equal-share"], "policies differ by their colour only")
            self.assertEqual([label.text for label in panel.find_elements(By.CSS_SELECTOR, "g:nth-of-type(2) text[data-tip]")], ["3", "6", "12"])
            for jobs in ("3", "6", "12"):
                [strict] = [t for t in points[jobs, steps] if (t["policy"], t["elasticity"]) == ("strict", "rigid")]
                [mark] = [m for m in marks if m.get_attribute("data-tip").startswith(f"strict, rigid, {jobs}:")]
                shown = float(mark.get_attribute("data-tip").split(": ")[1].split()[0])
                self.assertAlmostEqual(shown, strict["medians"]["makespan_s"]["median"], delta=shown * .006)
        keys = {key.text: key.find_element(By.CSS_SELECTOR, ".mark").get_attribute("d") for key in self.browser.find_elements(By.CLASS_NAME, "key")}
        self.assertEqual({keys["strict, rigid"], keys["strict, malleable"]}, shapes["strict"])

        self.points_are_answered_in_a_table(len(points))

        def kinds(count, look):
            return self.browser.execute_script(f"return new Set(Array.from({{length: {count}}}, (_, i) => {look})).size")
        self.assertEqual(kinds(11, "markOf(lineOf({}, i), 0, 0).getAttribute('d')"), 11)
        self.assertEqual(kinds(88, "lineOf({}, i).color + lineOf({}, i).shape"), 88)

    def points_are_answered_in_a_table(self, points):
        [answer, *_] = self.texts(".answer")
        for words in (r"^No point can be decided: only 3", r"malleable: shortest makespan \(median\): \S+ at \d of 6 points.*; certain at 0", r"rigid: shortest mean turnaround \(median\): ",
                      "Take it with care: it is simulated"):
            self.assertRegex(answer, words)
        rows = self.browser.find_elements(By.XPATH, "//h2[@id='sweep']/following-sibling::div[@class='scroll'][1]//tbody/tr")
        self.assertEqual(len(rows), 2 * points)
        self.assertRegex(rows[0].text, r"^\d+ \d+ (rigid|malleable) (equal-share|strict) [\d.]+ \[[\d.]+ [\d.]+\] s no: not told from ")
        for point in self.browser.find_elements(By.CSS_SELECTOR, "details.point"):
            self.browser.execute_script("arguments[0].open = false", point)
        link = rows[-1].find_element(By.TAG_NAME, "a")
        target = link.get_attribute("href").split("#")[1]
        link.click()
        WebDriverWait(self.browser, 60).until(lambda browser: browser.find_elements(By.CSS_SELECTOR, "details.point[open]"))
        self.assertEqual([point.get_attribute("id") for point in self.browser.find_elements(By.CSS_SELECTOR, "details.point[open]")], [target])
        self.browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(len(self.browser.find_elements(By.CSS_SELECTOR, "details.point[open]")), points)

    def test_ties_and_the_best_by_another_metric_are_told(self):
        def tie(_, side):
            for question in side["questions"]:
                for row in question["rows"]:
                    row["effects"]["makespan_s"] = {"ratio": 1, "paired": True, "trials": 9, "tested": False}
        self.open_changed("tied", tie)
        [answer] = self.texts(".answer")
        self.assertRegex(answer, r"malleable: all 2 policies have the same makespan in every trial, [\d.]+ \[[\d.]+ [\d.]+\] s\.")
        self.assertIn("the same", self.texts("#effects ~ div td"))

        def third(_, side):  # Its turnaround is the shortest; the base of the rows is another policy.
            side["policies"].append("srpt")
            for question in [one for one in side["questions"] if one["of"] == "policies"]:
                [row] = question["rows"]
                [loser] = [t for t in side["treatments"] if (t["policy"], t["elasticity"]) == (row["name"], question["elasticity"])]
                winner = {**loser, "policy": "srpt", "medians": {**loser["medians"], "mean_turnaround_s": {"median": .01, "values": 9}}}
                side["treatments"].append(winner)
                question["rows"].append({**row, "name": "srpt"})
                effect = {**row["effects"]["mean_turnaround_s"], "ratio": 2.0, "low": 1.9, "high": 2.1, "decided": True, "tested": True}
                question["rows"][1]["effects"] = {**row["effects"], "mean_turnaround_s": {**effect, "ratio": .5, "low": .4, "high": .6}}
                question["others"] = [{**row, "against": "srpt", "effects": {**row["effects"], "mean_turnaround_s": effect}}]
        self.open_changed("third", third)
        [answer] = self.texts(".answer")
        self.assertRegex(answer, r"malleable: srpt has the shortest mean turnaround, 0\.0100 s\. Of these trials that is certain: it is told apart from ")
        self.assertIn("(which takes 2.00 [1.90 2.10] times as long)", answer)

    def test_numbers_have_three_significant_digits(self):
        self.open("digits", self.run_folder)
        numbers = {"0.000008": "8.00e-6", "0.00123": "0.00123", "0.0123456": "0.0123", "-0.5": "-0.500", "99.96": "100", "123456": "123456", "0": "0"}
        for number, text in numbers.items():
            self.assertEqual(self.browser.execute_script(f"return rounded({number})"), text)

    def test_which_cells_are_left_out_is_told(self):
        tables = "[records]\nsamples = false\nsteps = false\ntimeline = false\ndecisions = false"
        (self.folder / "large.toml").write_text(experiment(name="large", trials=70, tables=tables).replace("jobs = 12", "jobs = 290"))
        text = self.open("large", self.cosched.run("large.toml"))
        self.assertRegex(text, r"Of \d+ of 280 cells the jobs are not in this file, which would be too large: of trials \d+ to 70")
        options = [option.text for option in self.browser.find_elements(By.CSS_SELECTOR, "select option")]
        lacking = [option for option in options if option.endswith("(not in this file)")]
        self.assertTrue(lacking)
        self.assertTrue(all(any(f"{policy}, {elasticity}, trial 1" == option for option in options)
                            for policy in ("strict", "equal-share") for elasticity in ("rigid", "malleable")))

    def test_services_alone_are_asked_what_they_answered(self):
        (self.folder / "served.toml").write_text(SERVED)
        text = self.open("served", self.cosched.run("served.toml"))
        [answer] = self.texts(".answer")
        self.assertNotRegex(answer, "makespan|turnaround")
        self.assertIn("answers requests to recognizer", text)
        for words in ("has the fewest windows above its objective", "answers most requests within their SLO", "has the lowest p99 latency"):
            self.assertRegex(answer, f"recognizer, malleable: four-cores {words}, .*; apart from one-core\\.")
        for title in ("windows above the objective", "share of requests in SLO", "p99 latency in ms"):
            [picture] = self.browser.find_elements(By.CSS_SELECTOR, f"svg[aria-label='{title}, recognizer of every treatment']")
            self.assertEqual(len(picture.find_elements(By.CSS_SELECTOR, "[data-tip*='median of 7']")), 4)
            self.assertEqual(len(picture.find_elements(By.CSS_SELECTOR, "[data-tip*=', trial ']")), 14)
        self.assertFalse(self.browser.find_elements(By.CSS_SELECTOR, "svg[aria-label^='makespan'], svg[aria-label^='mean turnaround']"))
        heads = self.texts("#tables ~ .scroll th")
        self.assertNotIn("mean turnaround s", heads)
        self.assertLessEqual({"granted core-s", "p99 ms", "windows above"}, set(heads))

    def with_equal_medians(self, data):
        """Of windows above the objective: four-cores has some in one trial, one-core and a copy of it in none; each has the median 0."""
        for run in data["runs"]:
            place = run["service_columns"].index("violated")
            for cell in run["cells"]:
                cell["services"][0]["values"][place] = 5 * (cell["policy"] == "four-cores" and cell["trial"] == 1)
            run["cells"] += [{**cell, "policy": "copy"} for cell in run["cells"] if cell["policy"] == "one-core"]
        for section in data["sections"]:
            [side] = section["comparison"]["sides"]
            for treatment in side["treatments"]:
                treatment["services"][0]["medians"]["violated"] = {"median": 0, "low": 0, "high": 0, "level": .984, "values": 7}
            side["treatments"] += [{**treatment, "policy": "copy"} for treatment in side["treatments"] if treatment["policy"] == "one-core"]

    def test_equal_medians_of_services_are_not_the_same(self):
        (self.folder / "served.toml").write_text(SERVED)
        self.open("even", self.cosched.run("served.toml"))
        change_page(self.folder / "even.html", self.folder / "equal.html", self.with_equal_medians)
        self.show("equal")
        self.assertRegex(self.texts(".answer")[0], r"recognizer, malleable: (one-core|copy) has the fewest windows above its objective, "
                         r"0 \[0 0\] of \d+; by the mean of its trials, as four-cores has the same median; "
                         r"the same in every trial as (one-core|copy); not apart from four-cores\.")
        (self.folder / "served.toml").write_text(SERVED + "[sweep]\nservices.window_s = [1, 2]\n")
        self.open("evens", self.cosched.run("served.toml"))
        change_page(self.folder / "evens.html", self.folder / "equals.html", self.with_equal_medians)
        text = self.show("equals")
        self.assertRegex(self.texts(".answer")[0],
                         r"best recognizer: windows above the objective \(median\): .*; apart from all others at 0\.")
        rows = self.texts("#sweep ~ .scroll tbody tr")[:2]
        for row in rows:
            self.assertRegex(row, r"^\d (one-core, copy|copy, one-core) 0 \[0 0\] of \d+ no: not apart from four-cores ")
        self.assertNotIn("Certain: told apart", text)
        self.assertIn("Nothing tests services: policies are apart where the intervals of their medians, of 95 % or more, do not overlap. "
                      "Of equal medians the one with the better mean of its trials is named.", text)

    def test_losses_failures_and_marks_are_counted_from_the_cells(self):
        self.assertIn("No cell failed, lost a job, or is marked.", self.show("reported"))
        run = self.folder / "damaged"
        shutil.copytree(self.run_folder, run)
        for jobs in run.glob("strict/rigid/*/jobs.csv"):
            jobs.write_text(jobs.read_text().replace("finished", "rejected", 1))
        write_cell(run / "equal-share/rigid/9", status="failed", reason="the policy broke its contract")
        write_cell(run / "equal-share/malleable/2", marks=["other programs"])
        text = self.open("losses", run)
        self.assertIn("1 of 36 cells failed. 9 jobs were lost: strict, rigid (9 in every trial). 1 of 36 cells is marked.", self.texts(".doubt"))
        self.assertNotIn("No cell failed", text)
        self.a_failed_cell_can_be_chosen(run)
        self.open("excluded", run, options=("--exclude-marked",))
        self.assertTrue([doubt for doubt in self.texts(".doubt") if doubt.startswith("1 marked cell left out")])
        self.assertNotIn("are marked", self.texts(".answer")[0])

    def a_failed_cell_can_be_chosen(self, run):
        Select(self.browser.find_element(By.TAG_NAME, "select")).select_by_visible_text("equal-share, rigid, trial 9 (failed)")
        self.assertIn("FAILED, left out of every figure: the policy broke its contract", self.texts(".doubt"))
        links = [link.get_attribute("href") for link in self.browser.find_elements(By.XPATH, "//p[contains(., 'Raw rows')]/a")]
        self.assertIn(f"file://{run}/equal-share/rigid/9/jobs.csv", links)

    def test_the_answer_is_what_the_trials_in_pairs_say(self):
        def change(_, side):
            effects = {"malleable": {"ratio": 1.2, "low": 1.1, "high": 1.34}, "rigid": {"ratio": .9, "low": .85, "high": .95}}
            for question in side["questions"]:
                if question["of"] == "policies":
                    question["rows"][0]["effects"]["makespan_s"].update(decided=True, **effects[question["elasticity"]])
                else:
                    for row, decided in zip(question["rows"], (True, False)):
                        row["effects"]["makespan_s"].update(ratio=.8, low=.7, high=.9, decided=decided)
            side["notes"] += ["TRIALS until makespan ± 5 %: NOT REACHED after 9 of at most 9", "a redo was killed or is still going; some of these: x"]
        self.open_changed("told", change)
        [answer] = self.texts(".answer")
        self.assertRegex(answer, r"malleable: \S+ has the shortest makespan, .* Of these trials that is certain: "
                                 r"it is told apart from \S+ \(which takes 1\.20 \[1\.10 1\.34\] times as long\)\.")
        self.assertRegex(answer, r"rigid: \S+ has the shortest makespan, .* That is not certain: "
                                 r"the same trials in pairs say the opposite of \S+ \(which takes 0\.900 \[0\.850 0\.950\] times as long\)\.")
        self.assertRegex(answer, r"malleable against rigid, makespan: 0\.800 \[0\.700 0\.900\] times as long under \S+; not told apart under \S+\.")
        doubts = "\n".join(self.texts(".doubt"))
        self.assertIn("NOT REACHED", doubts)
        self.assertIn("a redo was killed", doubts)

    def test_an_error_stays_in_its_part(self):
        text = self.open_changed("broken", lambda _, side: side.update(gates=None), errors=1)
        self.assertEqual(text.count("This part could not be drawn (TypeError"), 1)
        for words in ("has the shortest makespan", "Doubts and marks", "Any cell over time", "How to repeat it"):
            self.assertIn(words, text)
        self.assertTrue(self.browser.find_elements(By.CSS_SELECTOR, "svg[aria-label^='Cores of every job']"))

    def test_a_cell_of_very_many_grants_is_drawn(self):
        self.show("reported")
        script = """const spans = Array.from({length: 150000}, (_, i) => [1, i, i + 1, 1 + i % 2, 2]);
            const cell = {data: {jobs: [[1, "resnet20", 0, 0, 150000, "finished", ""]], spans}};
            return [gantt, coresInUse].map((draw) => draw(cell, "many").querySelectorAll("rect").length);"""
        self.assertEqual(self.browser.execute_script(script), [150000, 150000])

    def test_prints(self):
        self.show("reported")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.setEmulatedMedia", {"media": ""})
        shown = {title: self.browser.find_element(By.XPATH, f"//th[button[text()='{title}']]").is_displayed() for title in ("lost", "resizes")}
        self.assertEqual(shown, {"lost": True, "resizes": False})
        pdf = base64.b64decode(self.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
        if folder := os.environ.get("COSCHED_SCREENSHOTS"):
            Path(folder, "print.pdf").write_bytes(pdf)
        self.assertEqual(pdf[:5], b"%PDF-")
        self.assertGreater(len(pdf), 20_000)


def print_open_times():
    """Of reports of one run and of a sweep: cells, size, and the browser's own times of opening the file (navigation timing)."""
    with tempfile.TemporaryDirectory() as folder:
        cosched = Cosched(BINARY, folder, name="few", trials=9)
        Path(folder, "many.toml").write_text(experiment(name="many", trials=135))
        sweep = experiment(name="swept", trials=3, tables="[sweep]\ntrace.jobs = [4, 6, 8, 10, 12]\nworkload.resnet20.steps = [5, 10, 15, 20, 25, 30, 35, 40, 45]")
        Path(folder, "sweep.toml").write_text(sweep)
        for name, file in (("one run", "x.toml"), ("one run", "many.toml"), ("a sweep of 45 points", "sweep.toml")):
            run = cosched.run(file)
            page = run / "report.html"
            cosched("report", run)
            times = []
            for _ in range(5):
                chromium = browser()
                chromium.get(f"file://{page}")
                times.append(chromium.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd") / 1e3)
                chromium.quit()
            cells = len(list(run.rglob("cell.json")))
            print(f"{name}, {cells} cells, {page.stat().st_size / 1e6:.1f} MB: opened in {sorted(times)[2]:.2f} s ({min(times):.2f} to {max(times):.2f})")


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    if reason := why_not():
        print(f"Skipped\n{reason}")
        sys.exit(0)
    if sys.argv[1:] == ["--open-times"]:
        print_open_times()
    else:
        unittest.main()

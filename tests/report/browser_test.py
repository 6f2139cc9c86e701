#!/usr/bin/env python3
"""Does a report's page work in a browser: no script error, every picture drawn, tables that keys can order, a cell that can be chosen, and a
decent PDF? browser_test.py COSCHED [unittest args]. COSCHED_SCREENSHOTS=FOLDER keeps what it saw. browser_test.py COSCHED --open-times prints how
long reports of a few and of many cells take until the browser has drawn them."""
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
except ImportError:
    webdriver = None

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from simulated_experiment import Cosched, experiment  # noqa: E402

BINARY = None  # Given on the command line.


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

    def open(self, name, *runs, options=()):
        file = self.folder / f"{name}.html"
        self.cosched("report", *runs, "--out", file, *options)
        self.browser.get(f"file://{file}")
        self.keep(name)
        errors = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        self.assertEqual(errors, [])
        self.assertEqual(self.addresses(), [])
        for picture in self.browser.find_elements(By.CSS_SELECTOR, "svg[role=img]"):
            self.assertGreater(picture.size["height"], 40)
            self.assertTrue(picture.get_attribute("aria-label"))
        return self.browser.find_element(By.ID, "report").text

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
        self.assertLess(text.index("Take it with care: it is simulated"), text.index("Medians", text.index("Question and answer")))
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
        text = self.open("two", self.run_folder, other, options=("--baseline", self.run_folder))
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
            marks = panel.find_elements(By.TAG_NAME, "circle")
            self.assertEqual(len(marks), 12)
            self.assertEqual([label.text for label in panel.find_elements(By.CSS_SELECTOR, "g:nth-of-type(2) text[data-tip]")], ["3", "6", "12"])
            for jobs in ("3", "6", "12"):
                [strict] = [t for t in points[jobs, steps] if (t["policy"], t["elasticity"]) == ("strict", "rigid")]
                [mark] = [m for m in marks if m.get_attribute("data-tip").startswith(f"strict, rigid, {jobs}:")]
                shown = float(mark.get_attribute("data-tip").split(": ")[1].split()[0])
                self.assertAlmostEqual(shown, strict["medians"]["makespan_s"]["median"], delta=shown * .006)

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

    def test_prints(self):
        self.open("print", self.run_folder)
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

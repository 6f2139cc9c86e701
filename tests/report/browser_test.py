#!/usr/bin/env python3
"""Does a report's page work in a browser: no script error, every picture drawn, tables that keys can order, a cell that can be chosen, and a
decent PDF? browser_test.py COSCHED [unittest args]. COSCHED_SCREENSHOTS=FOLDER keeps what it saw."""
import base64
import os
import shutil
import subprocess
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

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = f"""name = "reported"
backend = "simulated"
trials = 9
policies = ["strict", "equal-share"]
elasticity = ["rigid", "malleable"]
[machine]
topology = "core:4 pu:1"
profile = "{ROOT}/experiments/profiles/example.json"
[simulation]
noise = 0.05
[trace]
jobs = 12
gap = {{ distribution = "normal", mean_s = 0.3, sd_s = 0.05 }}
[[workload]]
model = "resnet20"
batch = 32
steps = 20
cores = {{ min = 1, preferred = 2, max = 4 }}
"""
COSCHED = None  # Given on the command line.


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
        (cls.folder / "x.toml").write_text(EXPERIMENT)
        cls.run_folder = cls.experiment("x.toml")

    @classmethod
    def cosched(cls, *arguments):
        environment = {**os.environ, "COSCHED_LOCKS": str(cls.folder)}
        result = subprocess.run([COSCHED, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment, cwd=cls.folder)
        assert result.returncode == 0, result.stderr
        return result.stdout

    @classmethod
    def experiment(cls, *arguments):
        said = cls.cosched("run", *arguments, "--no-plots")
        return cls.folder / said.rstrip().rsplit("results: ", 1)[1].splitlines()[0]

    def open(self, name, *runs, options=()):
        file = self.folder / f"{name}.html"
        self.cosched("report", *runs, "--out", file, *options)
        self.browser.get(f"file://{file}")
        self.keep(name)
        errors = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        self.assertEqual(errors, [])
        self.assertEqual(self.addresses(), [])
        for picture in self.browser.find_elements(By.CSS_SELECTOR, "svg"):
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
        self.assertIn("run x.toml --no-plots", text)
        self.assertGreaterEqual(len(self.browser.find_elements(By.CSS_SELECTOR, "svg")), 7)

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
        other = self.experiment("x.toml", "--set", "trace.jobs=6")
        text = self.open("two", self.run_folder, other, options=("--baseline", self.run_folder))
        self.assertIn("B against A: shorter makespan", text)
        for side in "AB":
            self.assertIn(f"{side}, malleable: each policy against equal-share", text)
        self.assertEqual(text.count("PROFILE example.json: written by hand"), 1)
        (self.folder / "sweep.toml").write_text(EXPERIMENT.replace("reported", "swept") + "[sweep]\ntrace.jobs = [3, 6]\n")
        text = self.open("sweep", self.experiment("sweep.toml", "--trials", "3"))
        for point in ("trace.jobs=3", "trace.jobs=6"):
            self.assertIn(point.split(".")[-1], text)

    def test_prints(self):
        self.open("print", self.run_folder)
        pdf = base64.b64decode(self.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
        if folder := os.environ.get("COSCHED_SCREENSHOTS"):
            Path(folder, "print.pdf").write_bytes(pdf)
        self.assertEqual(pdf[:5], b"%PDF-")
        self.assertGreater(len(pdf), 20_000)


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    if reason := why_not():
        print(f"Skipped\n{reason}")
        sys.exit(0)
    unittest.main()

#!/usr/bin/env python3
"""Does the page over all figures hold every claim, with its picture, and work in a browser: nothing fetched, no script error?
reproduction_test.py COSCHED [unittest args]. COSCHED_SCREENSHOTS=FOLDER keeps what it saw."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import browser_test

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ["fig_control", "fig_pipeline_scaleout"]  # Simulated ones, which take seconds.
COSCHED = None  # Given on the command line.


def claims_of(figure):
    return json.loads((ROOT / f"plots/expected/{figure}.json").read_text())["claims"]


class ReproductionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.out = Path(folder.name) / "results"
        environment = {**os.environ, "COSCHED_LOCKS": folder.name}
        subprocess.run([COSCHED, "reproduce", *FIGURES, "--quick", "--out", cls.out], capture_output=True, check=False, env=environment)
        cls.page = cls.out / "reproduce.html"
        cls.browser = browser_test.browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.browser.get(f"file://{cls.page}")
        cls.text = cls.browser.find_element("id", "report").text
        if screenshots := os.environ.get("COSCHED_SCREENSHOTS"):
            height = cls.browser.execute_script("return document.documentElement.scrollHeight")
            cls.browser.set_window_size(1280, min(12000, height + 120))
            cls.browser.save_screenshot(f"{screenshots}/reproduction.png")

    def test_every_claim_is_told_with_its_verdict(self):
        rows = [row for row in self.browser.find_elements("css selector", "#claims + .scroll tbody tr")]
        texts = [" ".join(row.text.split()) for row in rows]
        self.assertEqual(len(rows), sum(len(claims_of(figure)) for figure in FIGURES))
        kept = json.loads((self.out / "reproduce.json").read_text())["figures"]
        for figure in kept:
            for claim in figure["claims"]:
                [row] = [text for text in texts if " ".join(claim["claim"].split()) in text and figure["name"] in text]
                self.assertIn(claim["verdict"], row)
                self.assertIn(claim["reason"], row)

    def test_each_figure_has_its_picture_its_command_and_where_it_was_made(self):
        for figure in FIGURES:
            picture = self.browser.find_element("css selector", f"img[alt^='{figure}']")
            self.assertGreater(self.browser.execute_script("return arguments[0].naturalWidth", picture), 500)
            self.assertIn(f"build/cosched reproduce {figure} --quick", self.text)
        self.assertEqual(len(re.findall(r"took [0-9.]+ minutes, [0-9.]+ MB", self.text)), len(FIGURES))

    def test_nothing_is_fetched_and_no_script_fails(self):
        fetched = self.browser.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        self.assertEqual([name for name in fetched if not name.startswith("data:")], [])
        self.assertEqual([entry for entry in self.browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")], [])

    def test_claims_that_nobody_judged_are_counted_apart(self):
        def unjudge(data):
            for claim in data["figures"][0]["claims"]:
                claim["verdict"] = None
            data["claims"]["of_publications"].update(not_supported_here=4, not_judged=3)
        changed = self.out / "unjudged.html"
        browser_test.change_page(self.page, changed, unjudge)
        self.browser.get(f"file://{changed}")
        self.addCleanup(self.browser.get, f"file://{self.page}")
        answer = self.browser.find_element("class name", "answer").text
        self.assertIn(", 4 are not supported here, 3 are not judged yet.", answer)
        self.assertIn("not judged yet", self.browser.find_element("css selector", "#claims + .scroll").text)

    def test_claims_of_publications_and_own_targets_are_counted_apart(self):
        answer = self.browser.find_element("class name", "answer").text
        claims = [claim for figure in json.loads((self.out / "reproduce.json").read_text())["figures"] for claim in figure["claims"]]
        for of, own in (("claims of publications", False), ("targets of our own, of which nothing is published,", True)):
            verdicts = [claim["verdict"] for claim in claims if (claim["published"] == "-") == own]
            hold, fail = map(verdicts.count, ("holds", "does not hold"))
            self.assertRegex(answer, rf"Of {len(verdicts)} {of} {hold} hold.* {fail} do not hold, ")
        texts = [cell.text for cell in self.browser.find_elements("css selector", "#claims + .scroll td:nth-child(3)")]
        self.assertEqual(texts.count("own target"), sum(claim["published"] == "-" for claim in claims))
        self.assertNotIn("-", texts)

    def test_marked_failed_and_lost_cells_are_told(self):
        self.assertNotIn("may mislead", self.text)

        def doubt(data):
            marks = [{"mark": "late", "cells": 3}, {"mark": "rests on extrapolation", "cells": 1}]
            data["figures"][0]["cells"] = {"all": 10, "marked": 3, "marks": marks, "failed": ["a/b/1: it broke"],
                                           "lost": [f"a/b/{n} lost 1 of 2 jobs" for n in range(8)]}
            data["figures"][0]["notes"] = ["what its script tells"]
            data["figures"][1]["cells"] = None
        changed = self.out / "doubtful.html"
        browser_test.change_page(self.page, changed, doubt)
        self.browser.get(f"file://{changed}")
        self.addCleanup(self.browser.get, f"file://{self.page}")
        self.assertIn("Take it with care: 3 of 10 cells may mislead and are marked, in 1 figure; 1 failed, in 1 figure; "
                      "8 lost jobs and are left out, in 1 figure; "
                      "of 1 figure that an earlier cosched judged it is not known which cells are marked.",
                      self.browser.find_element("class name", "answer").text)
        doubts = [doubt.text for doubt in self.browser.find_elements("class name", "doubt")]
        self.assertIn("3 of 10 cells are marked. In 3: late; in 1: rests on extrapolation.", doubts)
        self.assertIn("FAILED, and in no claim: a/b/1: it broke.", doubts)
        [lost] = [doubt for doubt in doubts if doubt.startswith("LEFT OUT of every claim: a/b/0 lost 1 of 2 jobs; ")]
        self.assertTrue(lost.endswith("a/b/5 lost 1 of 2 jobs; and 2 more."))
        rows = [row.text for row in self.browser.find_elements("css selector", "#figures + .scroll tbody tr")]
        self.assertIn(" 3 of 10 9 ", rows[0])
        self.assertNotIn("what its script tells", self.browser.find_element("id", "report").text)
        self.browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        self.assertIn("what its script tells", self.browser.find_element("id", "report").text)

    def test_records_are_linked(self):
        links = [link.get_attribute("href") for link in self.browser.find_elements("xpath", "//p[contains(., 'Records:')]/a")]
        self.assertEqual(len(links), len(FIGURES))
        for link in links:
            self.assertTrue((Path(link.removeprefix("file://")) / "manifest.json").exists(), link)


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    if reason := browser_test.why_not():
        print(f"Skipped\n{reason}")
        sys.exit(0)
    unittest.main()

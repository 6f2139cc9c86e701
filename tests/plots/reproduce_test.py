#!/usr/bin/env python3
"""Does `cosched reproduce --quick` run, draw and judge a figure with real tenants? reproduce_test.py COSCHED [unittest args].

Which verdicts come out is this machine's affair; that every claim gets one is ours.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECKER = Path(__file__).resolve().parent.parent / "check_results.py"
COSCHED = None  # Given on the command line.


class ReproduceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)

    def cosched(self, *arguments):
        # Tests may run side by side: their runs do not lock each other out.
        environment = {**os.environ, "COSCHED_LOCKS": str(self.out)}
        return subprocess.run([COSCHED, *arguments], capture_output=True, text=True, check=False, env=environment)

    def test_a_figure_with_real_tenants(self):
        result = self.cosched("reproduce", "grow", "--quick", "--out", self.out)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        [run] = (self.out / "fig_grow").iterdir()
        rows = json.loads((run / "plots" / "fig_grow.claims.json").read_text())["claims"]
        verdicts = [row["verdict"] for row in rows]
        self.assertTrue(set(verdicts) <= {"holds", "does not hold", "not supported here"}, verdicts)
        self.assertEqual(result.returncode, 1 if "does not hold" in verdicts else 0, result.stdout + result.stderr)
        for row in rows:
            self.assertIn(row["claim"].split(",")[0], result.stdout)
        self.assertIn(f"{len(rows)} claims: {verdicts.count('holds')} hold", result.stdout)
        self.assertIn("of them checked for direction only)", result.stdout)
        self.assertGreater((run / "plots" / "fig_grow.png").stat().st_size, 10_000)
        checked = subprocess.run([sys.executable, CHECKER, run], capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertEqual(checked.stdout.count("OK "), 2)  # Its two points.

    def test_figures_are_listed_and_an_unknown_one_is_refused(self):
        listed = self.cosched("list", "figures").stdout
        self.assertIn("fig_grow", listed)
        refused = self.cosched("reproduce", "fig_moon", "--out", self.out)
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("fig_moon", refused.stderr)
        self.assertIn("fig_grow", refused.stderr)
        self.assertEqual(list(self.out.iterdir()), [])


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()

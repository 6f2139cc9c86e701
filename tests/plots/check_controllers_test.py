#!/usr/bin/env python3
"""Does tests/check_results.py refuse decisions that a controller's formula does not give? check_controllers_test.py COSCHED

One simulated run of experiments/examples/controllers.toml; every test changes one decision of a policy, or one answer that it
went by, and expects exit 1 and the reason.
"""
import csv
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CHECKER = ROOT / "tests" / "check_results.py"
COSCHED = None  # Given on the command line.


def check(path):
    result = subprocess.run([sys.executable, CHECKER, path], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


class ControllersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.results = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.results.cleanup)
        command = [COSCHED, "run", ROOT / "experiments" / "examples" / "controllers.toml", "--trials", "1", "--no-plots", "--out",
                   cls.results.name]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        cls.original = next(Path(cls.results.name).glob("controllers/*"))

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.run = Path(self.folder.name) / "run"
        shutil.copytree(self.original, self.run)

    def edit(self, file, change):
        path = self.run / file
        with path.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        change(rows)
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    def test_untouched_run_holds_and_windows_were_looked_at(self):
        code, said = check(self.run)
        self.assertEqual(code, 0, said)
        windows = int(said.split(" windows recomputed")[0].split()[-1])
        self.assertGreater(windows, 5 * 60, said)  # Five controllers for 140 s, in windows of two.

    def test_a_changed_decision_is_refused(self):
        def change(rows):
            decided = [row for row in rows if row["event"] == "window-over" and row["allocation"]]
            job, _, what = decided[5]["allocation"].partition("=")
            cores, _, node = what.partition("@")
            decided[5]["allocation"] = f"{job}={round(float(cores) + 0.1, 3)}@{node}"
        for policy in ("roma-published", "roma-scaled", "roma-ct2", "kosmos"):
            with self.subTest(policy):
                shutil.rmtree(self.run)
                shutil.copytree(self.original, self.run)
                self.edit(f"{policy}/malleable/1/decisions.csv", change)
                code, said = check(self.run)
                self.assertEqual(code, 1, said)
                law = "roma-ct by its formula" if policy not in ("roma-ct2", "kosmos") else f"{policy} by its formula"
                self.assertIn(law, said)

    def test_a_later_answer_is_refused(self):
        def change(rows):
            rows[40]["finished"] = f"{float(rows[40]['finished']) + 0.4:.6f}"
        self.edit("kosmos/malleable/1/requests.csv", change)  # In thousandths of a core.
        code, said = check(self.run)
        self.assertEqual(code, 1, said)
        self.assertIn("kosmos by its formula", said)


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()

#!/usr/bin/env python3
"""Does tests/check_results.py refuse tampered records of services? check_requests_test.py COSCHED [unittest args]

Every test copies one simulated run of experiments/examples/services.toml, changes one thing, and expects exit 1 and the reason.
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
CELL = "equal-share/malleable/1"


def check(path):
    result = subprocess.run([sys.executable, CHECKER, path], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


class TamperTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.results = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.results.cleanup)
        command = [COSCHED, "run", ROOT / "experiments" / "examples" / "services.toml", "--trials", "2", "--no-plots", "--out",
                   cls.results.name, "--set", "trace.requests.0.count=500"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        cls.table = result.stdout
        cls.original = next(Path(cls.results.name).glob("services/*"))

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.run = Path(self.folder.name) / "run"
        shutil.copytree(self.original, self.run)

    def edit(self, name, change):
        """change(rows) edits the rows (dicts of text) of a file in place."""
        path = self.run / name
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), reader.fieldnames
        change(rows)
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    def expect_broken(self, reason):
        code, output = check(self.run)
        self.assertEqual(code, 1, output)
        self.assertIn(reason, output)

    def set_request(self, **values):
        self.edit(f"{CELL}/requests.csv", lambda rows: rows[7].update(values))

    def test_good_records_pass_and_the_table_shows_services(self):
        code, output = check(self.run)
        self.assertEqual(code, 0, output)
        self.assertIn("3000 requests", output)
        self.assertIn("service classifier", self.table)
        self.assertIn("in SLO %", self.table)

    def test_lost_request(self):
        self.edit(f"{CELL}/requests.csv", lambda rows: rows.pop(3))
        self.expect_broken("500 requests were sent, 499 answered or dropped")

    def test_request_twice(self):
        self.edit(f"{CELL}/requests.csv", lambda rows: rows[3].update(request_id=rows[4]["request_id"]))
        self.expect_broken("is there 2 times")

    def test_times_out_of_order(self):
        self.set_request(started="0.5", finished="0.4")
        self.expect_broken("its times are not in order")

    def test_sent_before_it_was_due(self):
        self.set_request(sent="0.1")
        self.expect_broken("was sent before it was due")

    def test_answered_after_the_end(self):
        self.set_request(finished="99999")
        self.expect_broken("after it ended")

    def test_half_an_answer(self):
        self.set_request(finished="")
        self.expect_broken("3 of 4 facts of an answer")

    def test_no_batch_of_that_size(self):
        self.set_request(batch="3")
        self.expect_broken("in batches of 3")

    def test_other_service(self):
        self.set_request(service="nobody")
        self.expect_broken("its job is not its service")

    def test_metrics(self):
        for column in ("served", "dropped", "p99_latency_ms", "slo_attainment", "goodput_per_s", "worst_lag_ms"):
            with self.subTest(column=column):
                self.setUp()
                self.edit("services.csv", lambda rows, column=column: rows[0].update({column: "4711"}))
                self.expect_broken(f"{column} should be")

    def test_metrics_of_a_cell_are_missing(self):
        self.edit("services.csv", lambda rows: rows.pop())
        self.expect_broken("its rows are not the services of the run's cells")


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()

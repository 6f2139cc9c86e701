#!/usr/bin/env python3
"""Does tests/check_results.py refuse decisions that a controller's formula does not give? check_controllers_test.py COSCHED

One simulated run of experiments/examples/controllers.toml; every test changes one decision of a policy, or one answer that it
went by, and expects exit 1 and the reason.
"""
import sys
import unittest

import tampering
from tampering import check

COSCHED = None  # Given on the command line.


class ControllersTest(tampering.TamperTest):
    @classmethod
    def setUpClass(cls):
        cls.run_example(COSCHED, "controllers", "--trials", "1")

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
        laws = {"roma-published": "roma-ct", "roma-scaled": "roma-ct", "roma-ct2": "roma-ct2", "kosmos": "kosmos"}
        for policy, law in laws.items():
            with self.subTest(policy):
                self.restore()
                self.edit(f"{policy}/malleable/1/decisions.csv", change)
                self.expect_broken(f"{law} by its formula")

    def test_a_later_answer_is_refused(self):
        def change(rows):
            rows[40]["finished"] = f"{float(rows[40]['finished']) + 0.4:.6f}"
        self.edit("kosmos/malleable/1/requests.csv", change)  # In thousandths of a core.
        self.expect_broken("kosmos by its formula")


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()

#!/usr/bin/env python3
"""Does tests/check_results.py refuse tampered records of services? check_requests_test.py COSCHED [unittest args]

Every test copies one simulated run of experiments/examples/services.toml, changes one thing, and expects exit 1 and the reason.
"""
import sys
import unittest

import tampering
from tampering import check

COSCHED = None  # Given on the command line.
CELL = "equal-share/malleable/1"


class RequestsTest(tampering.TamperTest):
    @classmethod
    def setUpClass(cls):
        cls.table = cls.run_example(COSCHED, "services", "--trials", "2", "--set", "trace.requests.0.count=500")

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
                self.restore()
                self.edit("services.csv", lambda rows, column=column: rows[0].update({column: "4711"}))
                self.expect_broken(f"{column} should be")

    def test_metrics_of_a_cell_are_missing(self):
        self.edit("services.csv", lambda rows: rows.pop())
        self.expect_broken("its rows are not the services of the run's cells")


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()

#!/usr/bin/env python3
"""Does tests/check_results.py refuse decisions that a controller's law does not give, and grants that are not what was decided?
check_controllers_test.py COSCHED

One simulated run of experiments/examples/controllers.toml under every policy of shares, and one of experiments/roma.toml, where a
device answers, too; every test changes one amount of a policy by a step of its grid, or one answer that it went by, and expects
exit 1 and the reason.
"""
import json
import sys
import unittest

import tampering
from tampering import ROOT, check

COSCHED = None  # Given on the command line.
LAWS = {"roma-published": "roma-ct", "roma-scaled": "roma-ct", "roma-ct2": "roma-ct2", "roma-rules": "roma-rules",
        "kosmos": "kosmos", "adaptive": "kosmos", "kpa": "kpa", "hpa": "hpa", "vpa": "vpa", "sponge": "sponge",
        "fine-sponge": "sponge", "fa2": "fa2", "curve-shares": "curve-shares"}
GRID = {"roma-ct2": 0.001, "kosmos": 0.001, "adaptive": 0.001, "kpa": 1, "vpa": 0.001, "sponge": 1, "fa2": 1}
# Times of which a run of 140 s has many, and what is not the default.
QUICK = {"roma-scaled": {"aim": 0.9}, "roma-ct2": {"aim": 0.8}, "kosmos": {"aim": 0.9}, "curve-shares": {"curve_factor": 0.8},
         "kpa": {"stable_s": 12, "panic_s": 2, "least": 1}, "hpa": {"period_s": 4, "calm_s": 12},
         "vpa": {"period_s": 4, "half_life_s": 30},
         "adaptive": {"use": '"kosmos"', "gains": '"adaptive"'}, "fine-sponge": {"use": '"sponge"', "least": 0.1, "grid": 0.1}}


def options_of(policies):
    settings = [f"policies={json.dumps([*policies, 'one-core'])}"]
    settings += [f"policy.{policy}.{name}={value}" for policy, own in QUICK.items() for name, value in own.items()]
    return [part for setting in settings for part in ("--set", setting)]


def windows_of(said):
    return int(said.split(" windows recomputed")[0].split()[-1])


def one_step_more(rows, grid):
    """Of the sixth amount that was decided after a window."""
    decided = [row for row in rows if row["event"] == "window-over" and row["allocation"]]
    row = decided[min(5, len(decided) - 1)]
    job, _, what = row["allocation"].partition("=")
    cores, _, node = what.partition("@")
    row["allocation"] = f"{job}={round(float(cores) + grid, 3)}@{node}"


class ControllersTest(tampering.TamperTest):
    @classmethod
    def setUpClass(cls):
        cls.run_example(COSCHED, "controllers", "--trials", "1", *options_of(LAWS))

    def test_untouched_run_holds_and_all_windows_were_looked_at(self):
        code, said = check(self.run)
        self.assertEqual(code, 0, said)
        self.assertGreaterEqual(windows_of(said), 69 * len(LAWS), said)  # Of 140 s, two each, until the last answer.
        self.assertNotIn("left out", said)

    def expect_each_broken(self, table, change, reason):
        """change(rows, grid) is done to that table of every policy; few at a time, for only so many violations are shown."""
        policies = list(LAWS)
        for first in range(0, len(policies), 5):
            self.restore()
            for policy in policies[first:first + 5]:
                self.edit(f"{policy}/malleable/1/{table}", lambda rows, grid=GRID.get(policy, 0.1): change(rows, grid))
            code, output = check(self.run)
            self.assertEqual(code, 1, output)
            said = output.splitlines()
            for policy in policies[first:first + 5]:
                with self.subTest(policy):
                    told = [line for line in said if f"/{policy}/malleable/1/{table}" in line]
                    self.assertTrue(any(reason.format(LAWS[policy]) in line for line in told), said)

    def test_an_amount_decided_that_is_a_step_off_is_refused(self):
        self.expect_each_broken("decisions.csv", one_step_more, "{} by its formula")

    def test_an_amount_granted_that_is_a_step_off_is_refused(self):
        def change(rows, grid):
            row = [row for row in rows if row["kind"] == "granted"][2]
            row["amount"] = f"{float(row['amount']) + grid:.3f}"
        self.expect_each_broken("grants.csv", change, "cores were granted, decided were")

    def test_an_amount_that_never_was_granted_is_refused(self):
        def change(rows):
            rows.remove([row for row in rows if row["kind"] == "granted"][2])
        self.edit("roma-scaled/malleable/1/grants.csv", change)
        self.expect_broken("settled, but were not granted")

    def test_decisions_that_settled_late_are_taken_in_their_order(self):
        for policy in LAWS:
            self.edit(f"{policy}/malleable/1/decisions.csv", lambda rows: rows.reverse())
        code, said = check(self.run)
        self.assertEqual(code, 0, said)

    def test_a_later_answer_is_refused(self):
        def change(rows):
            rows[40]["finished"] = f"{float(rows[40]['finished']) + 0.4:.6f}"
        self.edit("kosmos/malleable/1/requests.csv", change)  # In thousandths of a core.
        self.expect_broken("kosmos by its formula")

    def test_less_cpu_time_is_refused(self):
        def change(rows):
            for row in rows:
                row["run_time_s"] = f"{0.8 * float(row['run_time_s']):.6f}"
        for policy in ("hpa", "vpa"):
            with self.subTest(policy):
                self.restore()
                self.edit(f"{policy}/malleable/1/samples.csv", change)
                self.expect_broken(f"{policy} by its formula")

    def test_a_fixed_share_that_is_another_is_refused(self):
        self.edit("one-core/malleable/1/decisions.csv", lambda rows: rows[0].update(allocation="0=1.1@0"))
        self.expect_broken("static-shares by its rule")

    def test_without_the_profile_laws_that_need_it_are_left_out_and_told(self):
        manifest = self.run / "manifest.json"
        text = json.loads(manifest.read_text())
        text["experiment"]["profile"]["fnv1a"] = "0" * 16
        manifest.write_text(json.dumps(text))
        code, said = check(self.run)
        self.assertEqual(code, 0, said)
        self.assertLess(windows_of(said), 70 * (len(LAWS) - 4), said)
        self.assertIn("4 controllers left out", said)


class DevicesTest(tampering.TamperTest):
    """Two instances share a node, and a device answers beside them."""

    @classmethod
    def setUpClass(cls):
        profile = ROOT / "experiments" / "profiles" / "example.json"
        cls.run_file(COSCHED, ROOT / "experiments" / "roma.toml", "--trials", "1", "--backend", "simulated",
                     "--set", f"machine.profile='{profile}'")

    def test_untouched_run_holds_and_all_were_looked_at(self):
        code, said = check(self.run)
        self.assertEqual(code, 0, said)
        self.assertGreater(windows_of(said), 2 * 20, said)  # roma and rules, of 22 s.
        self.assertIn("divisions recomputed", said)
        self.assertNotIn("left out", said)

    def test_an_instance_that_is_not_refused_is_noticed(self):
        def change(rows):
            rows[0]["allocation"] = "0=1@0"
        self.edit("devices/malleable/1/decisions.csv", change)
        self.expect_broken("but a device answers for it")

    def test_a_refusal_where_no_device_answers_is_noticed(self):
        def change(rows):
            for row in rows:
                row["allocation"] = row["allocation"].replace("1=1@0", "1=reject")
        self.edit("static/malleable/1/decisions.csv", change)
        self.expect_broken("but no device answers for it")


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()

#!/usr/bin/env python3
"""Is the verdict of a claim right, whatever the figure, and does plots/expected/ say of each claim what verdicts need?"""
import json
import re
import unittest
from unittest import mock

import numpy as np

import figures_test
from figures_test import ROOT, FigureCase, World, claims  # Sets the path to plots/, too.

import fig_roma_controllers  # noqa: E402
import gains  # noqa: E402

EXPECTED = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "plots" / "expected").glob("fig_*.json"))}


def estimate(low, high, trials=6):
    """With the level of the range of so many trials."""
    return claims.Estimate((low + high) / 2, low, high, 1 - 2 * 0.5**trials, trials, True)


class Verdicts(unittest.TestCase):
    def verdict(self, low, high, limits, **claim):
        return claims.judge({"holds_if": limits, **claim}, estimate(low, high), 2)[0]

    def test_the_whole_interval_decides(self):
        limits = {"from": 0.9, "to": 1.1}
        self.assertEqual(self.verdict(0.95, 1.05, limits), claims.HOLDS)
        self.assertEqual(self.verdict(0.9, 1.1, limits), claims.HOLDS)
        self.assertEqual(self.verdict(1.11, 1.2, limits), claims.FAILS)
        self.assertEqual(self.verdict(0.5, 0.89, limits), claims.FAILS)
        self.assertEqual(self.verdict(1.05, 1.2, limits), claims.NOT_HERE)
        self.assertEqual(self.verdict(0.5, 2, limits), claims.NOT_HERE)
        self.assertEqual(self.verdict(1.1, 9, {"from": 1}), claims.HOLDS)
        self.assertEqual(self.verdict(1.1, 9, {"to": 1}), claims.FAILS)
        self.assertEqual(self.verdict(1.1, 9, {"from": 1}, needs_cores=3), claims.NOT_HERE)

    def test_fewer_than_six_trials_decide_nothing(self):
        claim = {"holds_if": {"from": 1}}
        verdict, reason = claims.judge(claim, estimate(2, 3, trials=3), 2)
        self.assertEqual((verdict, reason), (claims.NOT_HERE, "the range of 3 trials covers 75 %; 6 are needed"))
        self.assertEqual(claims.judge(claim, estimate(2, 3, trials=5), 2)[0], claims.NOT_HERE)
        self.assertEqual(claims.judge(claim, estimate(2, 3, trials=6), 2)[0], claims.HOLDS)
        self.assertIn("one trial has no interval", claims.judge(claim, claims.median([2]), 2)[1])

    def test_one_trial_gives_one_number(self):
        self.assertEqual(claims.median([4, 1, 2]), claims.Estimate(2, 1, 4, 0.75, 3, True))
        ten = claims.median([9, 1, 5, 6, 4, 7, 3, 10, 8, 2])
        self.assertEqual((ten.value, ten.low, ten.high, ten.is_range), (5.5, 2, 9, False))
        self.assertAlmostEqual(ten.level, 1 - 22 / 1024)
        self.assertEqual(claims.median([5]).level, 0)
        with self.assertRaises(claims.NotHere):
            claims.median([])

    def test_steps_of_one_trial_are_no_trials(self):
        """However many steps a trial has, three of them are three numbers."""
        world = World()
        world.after_resize = 1.08
        with mock.patch.object(figures_test, "TRIALS", 3):
            case = FigureCase()
            case.setUp()
            rows = case.judged("fig_elasticity", world)
            case.doCleanups()
        self.assertEqual((rows["intra_shrunk"]["level"], rows["intra_shrunk"]["trials"]), (0.75, 3))
        self.assertEqual(rows["intra_shrunk"]["verdict"], claims.NOT_HERE)

    def test_independent_ratios(self):
        three = claims.independent_ratio([2, 4, 8], [1, 2, 4])
        self.assertAlmostEqual(three.value, 2)
        self.assertEqual((three.low, three.high, three.is_range), (0.5, 8, True))
        self.assertAlmostEqual(three.level, 0.9)
        five = claims.independent_ratio([10, 11, 12, 13, 14], [1] * 5)
        self.assertAlmostEqual(five.level, 1 - 8 / 252)  # U <= 2, the published critical value.
        self.assertFalse(five.is_range)

    def test_the_table_tells_the_level(self):
        claim = {"name": "x", "claim": "x", "published": 1, "holds_if": {"to": 3}}
        text = claims.table("t", [claims.evaluate(claim, {"x": lambda: estimate(1.5, 2.5)}, 2)])
        self.assertIn("2.000 [1.500 2.500] 96.8 %", text)

    def test_a_direction_that_holds_is_no_size_that_agrees(self):
        claim = {"name": "x", "claim": "x", "published": 21, "holds_if": {"from": 0}, "checks": "direction only"}
        text = claims.table("t", [claims.evaluate(claim, {"x": lambda: estimate(10, 12)}, 2)])
        self.assertIn("holds (direction only)", text)

    def test_a_failed_claim_tells_its_known_reason(self):
        claim = {"name": "x", "claim": "x", "published": 1, "holds_if": {"to": 1}, "because": "our pool spins"}
        row = claims.evaluate(claim, {"x": lambda: estimate(1.5, 2.5)}, 2)
        self.assertEqual(row["verdict"], claims.FAILS)
        self.assertIn("our pool spins", row["reason"])

    def test_a_direction_without_any_effect_does_not_hold(self):
        claim = {"name": "x", "claim": "x", "published": -7, "holds_if": {"from": -10, "to": 0, "not": 0}, "checks": "direction only"}
        row = claims.evaluate({**claim, "because": "the model has no cost"}, {"x": lambda: estimate(0, 0)}, 2)
        self.assertEqual((row["verdict"], row["reason"]),
                         (claims.FAILS, "there is no effect: the whole interval is 0; the model has no cost"))
        verdict, reason = claims.judge(claim, estimate(-3, 0), 2)
        self.assertEqual(verdict, claims.NOT_HERE)
        self.assertIn("the interval reaches 0, which is no effect", reason)
        self.assertEqual(claims.judge(claim, estimate(-3, -0.1), 2)[0], claims.HOLDS)
        self.assertEqual(self.verdict(1, 1, {"from": 1, "not": 1}), claims.FAILS)
        self.assertEqual(self.verdict(1, 1, {"from": 1}), claims.HOLDS)

    def test_the_table_says_that_no_effect_is_not_enough(self):
        self.assertEqual([claims.condition(limits) for limits in ({"from": 1}, {"from": 1, "not": 1}, {"to": 0, "not": 0},
                                                                  {"from": -10, "to": 0, "not": 0})],
                         [">= 1", "> 1", "< 0", "-10 to 0, not 0"])

    def test_what_the_machine_itself_does_not_reach_blames_no_model(self):
        far, near = claims.Reach(0.4, "the hardware's own tau"), claims.Reach(0.9, "the hardware's own tau")
        claim = {"holds_if": {"from": 0.8}}
        verdict, reason = claims.judge(claim, estimate(0.1, 0.6)._replace(reach=far), 2)
        self.assertEqual((verdict, reason), (claims.NOT_HERE, "no model can be that near: the hardware's own tau is 0.400"))
        self.assertEqual(claims.judge(claim, estimate(0.1, 0.6)._replace(reach=near), 2)[0], claims.FAILS)
        self.assertEqual(claims.judge(claim, estimate(0.85, 0.9)._replace(reach=far), 2)[0], claims.HOLDS)

    def test_what_every_reader_must_know_is_beside_any_verdict(self):
        claim = {"name": "x", "claim": "x", "published": "-", "holds_if": {"from": 90}}
        for low, verdict in ((95, claims.HOLDS), (50, claims.FAILS)):
            row = claims.evaluate(claim, {"x": lambda low=low: estimate(low, low)._replace(note="16 of 105 pairs")}, 2)
            self.assertEqual(row["verdict"], verdict)
            self.assertTrue(row["reason"].endswith("16 of 105 pairs"))


class Expected(unittest.TestCase):
    def each(self):
        for figure, expected in EXPECTED.items():
            for claim in expected["claims"]:
                yield f"{figure} {claim['name']}", expected, claim

    def test_limits_that_leave_the_size_open_say_so(self):
        for name, _, claim in self.each():
            limits = claim["holds_if"]
            ends = [float(end) for end in re.findall(r"-?[0-9.]+", str(claim["published"]))]
            is_range = ends == [limits.get("from"), limits.get("to")]  # "-67 to -37%", of which the limits are the ends.
            two_sided = {"from", "to"} <= limits.keys() and limits.get("to") != 0 != limits.get("from")
            size = not isinstance(claim["published"], str) and two_sided or is_range
            known = claim["published"] in ("-", "> 0", "> 1", "< 0", "< 1")  # No size was published.
            self.assertEqual(claim.get("checks", ""), "" if size or known else "direction only", name)

    def test_a_published_direction_says_where_there_is_no_effect(self):
        for name, _, claim in self.each():
            limits = claim["holds_if"]
            ends = {limits.get("from"), limits.get("to")}
            if "not" in limits:
                self.assertIn(limits["not"], ends, name)
            elif claim["published"] in ("> 0", "> 1", "< 0", "< 1") or claim.get("checks") == "direction only":
                self.assertFalse(ends & {0, 1}, name)

    def test_where_nothing_is_published_no_claim_has_a_published_value(self):
        for name, expected, claim in self.each():
            if expected["source"].startswith(("nothing published", "no published values")):
                self.assertEqual(claim["published"], "-", name)

    def test_the_published_grid_is_told_by_the_means_of_its_cells_on_16_cores(self):
        expected = EXPECTED["fig_policy_grid"]
        columns = {"throughput": (2, 3), "turnaround": (4, 5)}

        def mean(policy, grants, metric):
            of, over = columns[metric]
            return np.mean([100 * (cell[of] / cell[over] - 1) for group in expected["published"]["groups"]
                            if (group["cores"], group["grants"]) == (16, grants) for cell in group["cells"] if cell[0] == policy])

        told = {claim["name"]: claim["published"] for claim in expected["claims"]}
        for name, published in told.items():
            grants, _, metric = name.partition("_")
            found = (mean("always-attend", grants, metric) if grants in ("partial", "whole")
                     else np.mean([mean(name.replace("_", "-"), grants, "throughput") for grants in ("partial", "whole")]))
            self.assertAlmostEqual(published, found, delta=0.05, msg=name)
        of_grants = {claim["name"]: claim["published"] for claim in EXPECTED["fig_partial_grants"]["claims"]}
        self.assertEqual([of_grants[name] for name in ("none_throughput", "all_throughput", "all_turnaround")],
                         [told[name] for name in ("whole_throughput", "partial_throughput", "partial_turnaround")])


class Sums(unittest.TestCase):
    def test_a_mean_of_points_of_which_half_gain_nothing(self):
        points = [dict.fromkeys(range(6), gain) for gain in (0, 0, 0, 20, 30, 40)]
        self.assertEqual(gains.pooled(points).value, 15)
        self.assertEqual(gains.pooled(points, np.median).value, 10)

    def test_others_by_turns_beat_a_setting_that_none_beats_in_both(self):
        others = [(60, 100), (10, 200), (0, 400)]  # Percent of windows violated, core-seconds.
        least = fig_roma_controllers.least_violated
        self.assertEqual([least(others, spent) for spent in (100, 150, 200, 300, 500)], [60, 35, 10, 5, 0])
        self.assertEqual(least([*others, (90, 150)], 150), 35)
        with self.assertRaises(claims.NotHere):
            least(others, 99)


if __name__ == "__main__":
    unittest.main()

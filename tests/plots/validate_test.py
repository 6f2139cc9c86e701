#!/usr/bin/env python3
"""Does plots/validate.py draw what `cosched validate` writes, and say so when it can't?"""
import json
import tempfile
import unittest
from pathlib import Path

import forked

SCRIPT = Path(__file__).resolve().parent.parent.parent / "plots" / "validate.py"
SMALLEST_PLOT = 10_000  # Bytes; an empty page is smaller.


def cell(policy, elasticity, trial, comparable=True):
    values = {"makespan": 10 + trial, "turnaround": 3 + trial}
    return {"run": 0, "policy": policy, "elasticity": elasticity, "trial": trial, "comparable": comparable,
            "measured": values, "simulated": {name: 1.05 * value for name, value in values.items()}}


def validation(cells):
    estimate = {"value": 0.05, "low": 0.04, "high": 0.06, "level": 0.5, "trials": 2}
    return {"cells": cells, "absolute_error": {"makespan": estimate, "turnaround": estimate},
            "by_makespan": {"tau": estimate}, "by_turnaround": None, "services": None}


class ValidateTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.run = Path(self.folder.name)

    def draw(self):
        return forked.run(SCRIPT, self.run)

    def test_draws_every_policy_and_class(self):
        cells = [cell(policy, elasticity, trial) for policy in ("strict", "my-own") for elasticity in ("rigid", "malleable")
                 for trial in (1, 2)]
        (self.run / "validation.json").write_text(json.dumps(validation(cells)))
        result = self.draw()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        plots = [Path(line) for line in result.stdout.split()]
        self.assertEqual([plot.name for plot in plots], ["validate.png", "validate.pdf", "validate.csv"])
        for plot in plots[:2]:
            self.assertGreater(plot.stat().st_size, SMALLEST_PLOT)
        self.assertGreater(len(plots[2].read_text().splitlines()), 2)

    def test_says_why_it_cannot(self):
        self.assertIn("validation.json", self.draw().stderr)
        (self.run / "validation.json").write_text(json.dumps(validation([cell("strict", "rigid", 1, comparable=False)])))
        result = self.draw()
        self.assertEqual(result.returncode, 1)
        self.assertIn("no cell has an outcome in both worlds", result.stderr)


if __name__ == "__main__":
    unittest.main()

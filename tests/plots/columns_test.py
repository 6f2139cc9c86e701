#!/usr/bin/env python3
"""Do those who read records without C++ know the columns that C++ lists (experiments/records/rows.h, experiments/analysis/metrics.h)?
columns_test.py WRITE_FIXTURE [unittest args]

WRITE_FIXTURE --columns prints the lists. Held to them are tests/check_results.py, plots/load.py, and the tables of
experiments/README.md.
"""
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "plots")]
import check_requests
import check_results
import check_summary
import load

KINDS = {int: "integer", float: "number", str: "text", check_results.parse_cpus: "cores"}
KEY = ["policy", "elasticity", "trial"]
WRITE_FIXTURE = None  # Given on the command line.


class ColumnsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lists = subprocess.run([WRITE_FIXTURE, "--columns"], capture_output=True, text=True, check=True).stdout
        cls.tables = json.loads(lists)
        cls.records = {name: kinds for name, kinds in cls.tables.items() if name not in ("summary.csv", "services.csv")}

    def documented(self, table):
        """The columns that experiments/README.md defines."""
        readme = (ROOT / "experiments" / "README.md").read_text()
        rows = readme.split(f"| column of `{table}` |")[1].split("\n\n")[0].splitlines()[2:]
        return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]

    def test_checker_knows_every_column_and_its_type(self):
        known = {table: {name: KINDS[kind] for name, kind in types.items()} for table, types in check_results.TYPES.items()}
        self.assertEqual(known, self.records)

    def test_checker_computes_every_metric(self):
        cell = SimpleNamespace(jobs=[], samples=[], services=[], marks=[], grants=[], holds=[], memory_moves=[], machine=set(),
                               has={"samples": True, "grants": True})
        metrics = [*KEY, "status", *check_summary.expected_summary(cell)]
        self.assertEqual(sorted(metrics), sorted(self.tables["summary.csv"]))
        self.assertEqual(set(check_summary.SAMPLED), set(check_summary.sampled_summary(cell, 1.0)))

    def test_checker_computes_every_figure_of_a_service(self):
        request = {"state": "dropped", "scheduled": 0.0, "sent": 0.0, "slo_ms": None}
        figures = [*KEY, "service", *check_requests.expected_service([request], [])]
        self.assertEqual(sorted(figures), sorted(self.tables["services.csv"]))

    def test_plots_read_core_sets_as_text(self):
        kinds = {name: kind for columns in self.records.values() for name, kind in columns.items()}
        cores = {name for name, kind in kinds.items() if kind == "cores"}
        self.assertLessEqual(cores, set(load.TEXT))
        self.assertLessEqual({kinds.get(name) for name in load.TEXT}, {"cores", "text"})

    def test_readme_defines_every_metric(self):
        for table in ("summary.csv", "services.csv"):
            self.assertEqual(sorted(self.documented(table)), sorted(self.tables[table]), table)


if __name__ == "__main__":
    WRITE_FIXTURE = sys.argv.pop(1)
    unittest.main()

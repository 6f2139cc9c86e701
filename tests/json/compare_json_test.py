#!/usr/bin/env python3
"""Is what `cosched compare --json` prints as its schema says, and the same as its table? compare_json_test.py COSCHED [unittest args]."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import jsonschema

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "experiments/schemas/compare.schema.json").read_text())
EXPERIMENT = f"""name = "x"
backend = "simulated"
trials = 8
policies = ["strict", "equal-share"]
elasticity = ["rigid", "malleable"]
[machine]
topology = "core:4 pu:1"
profile = "{ROOT}/experiments/profiles/example.json"
[simulation]
noise = 0.05
[trace]
jobs = 12
gap = {{ distribution = "normal", mean_s = 0.3, sd_s = 0.05 }}
[[workload]]
model = "resnet20"
batch = 32
steps = 20
cores = {{ min = 1, preferred = 2, max = 4 }}
"""
SERVICES = ROOT / "experiments/examples/services.toml"
COSCHED = None  # Given on the command line.


class CompareJsonTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "x.toml").write_text(EXPERIMENT)

    def cosched(self, *arguments):
        environment = {**os.environ, "COSCHED_LOCKS": str(self.folder)}
        return subprocess.run([COSCHED, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment,
                              cwd=self.folder)

    def run_experiment(self, file="x.toml", *more):
        result = self.cosched("run", file, "--no-plots", *more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return Path(result.stdout.rstrip().rsplit("results: ", 1)[1].splitlines()[0])

    def compare(self, *arguments, code=0):
        result = self.cosched("compare", *arguments, "--json")
        self.assertEqual(result.returncode, code, result.stderr)
        data = json.loads(result.stdout)
        jsonschema.validate(data, SCHEMA)
        return data

    def test_one_run_has_what_its_table_has(self):
        run = self.run_experiment()
        table = self.cosched("compare", run, "--no-plots").stdout
        [side] = self.compare(run)["comparison"]["sides"]
        self.assertEqual((side["cells"], side["simulated_cells"], side["trials"], side["one_trace"]), (32, 32, 8, False))
        self.assertEqual(side["policies"], ["strict", "equal-share"])
        self.assertEqual(len(side["treatments"]), 4)
        questions = side["questions"]
        self.assertEqual([(q["of"], q["elasticity"]) for q in questions],
                         [("policies", "rigid"), ("policies", "malleable"), ("elasticities", "malleable")])
        for question in questions:
            for row in question["rows"]:
                effect = row["effects"]["makespan_s"]
                interval = f" [{effect['low']:.3f} {effect['high']:.3f}]" if effect["tested"] else ""
                shown = f"{row['name']:<16} {effect['ratio']:.3f}{interval}"
                self.assertIn(" ".join(shown.split()), " ".join(table.split()))
            for verdict in question["verdicts"]:
                self.assertIn(verdict["text"], " ".join(table.split()))
        for note in side["notes"]:
            self.assertIn(" ".join(note.split()), " ".join(table.split()))
        makespan = side["treatments"][0]["medians"]["makespan_s"]
        self.assertEqual(makespan["values"], 8)
        self.assertLessEqual(makespan["low"], makespan["median"])

    def test_runs_that_differ_stand_side_by_side(self):
        runs = [self.run_experiment(), self.run_experiment("x.toml", "--set", "trace.jobs=6")]
        comparison = self.compare(*runs)["comparison"]
        self.assertEqual([side["runs"] for side in comparison["sides"]], [[str(run)] for run in runs])
        [between] = comparison["between"]
        self.assertEqual((between["side"], between["against"]), ("B", "A"))
        self.assertIn("trace.jobs: 12 in A, 6 in B", between["not_pooled"])
        self.assertTrue(all(row["effects"]["makespan_s"]["ratio"] < 1 for row in between["rows"]))

    def test_a_sweep_has_its_points(self):
        (self.folder / "sweep.toml").write_text(EXPERIMENT + "[sweep]\ntrace.jobs = [3, 6]\n")
        run = self.run_experiment("sweep.toml", "--trials", "2")
        data = self.compare(run)
        self.assertIsNone(data["comparison"])
        [sweep] = data["sweeps"]
        self.assertEqual([point["values"] for point in sweep["points"]], [{"trace.jobs": "3"}, {"trace.jobs": "6"}])
        self.assertEqual({point["comparison"]["sides"][0]["cells"] for point in sweep["points"]}, {8})

    def test_services_have_their_medians(self):
        run = self.run_experiment(SERVICES, "--trials", "2")
        [side] = self.compare(run)["comparison"]["sides"]
        services = side["treatments"][0]["services"]
        self.assertTrue(services)
        self.assertIn("p99_latency_ms", services[0]["medians"])
        self.assertEqual(services[0]["medians"]["requests"]["values"], 2)

    def test_gates_are_there_as_they_are_told(self):
        gates = ('\n[[gate]]\nmetric = "makespan"\npolicy = "equal-share"\nagainst = "strict"\nmax = 10\n'
                 '[[gate]]\nmetric = "lost"\npolicy = "strict"\nelasticity = "rigid"\nmin = 1\n')
        (self.folder / "gates.toml").write_text(EXPERIMENT + gates)
        result = self.cosched("run", "gates.toml", "--no-plots", "--junit", "gates.xml")
        self.assertEqual(result.returncode, 1, result.stderr)
        run = result.stdout.rsplit("results: ", 1)[1].splitlines()[0]
        [side] = self.compare(run, code=1)["comparison"]["sides"]
        self.assertEqual([(gate["metric"], gate["elasticity"], gate["verdict"], gate["passes"]) for gate in side["gates"]],
                         [("makespan_s", "rigid", "holds", True), ("makespan_s", "malleable", "holds", True),
                          ("lost", "rigid", "fails", False)])
        suite = ElementTree.parse(self.folder / "gates.xml").getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("skipped")), ("3", "1", "0"))
        for gate, case in zip(side["gates"], suite.findall("testcase")):
            self.assertEqual(case.find("failure") is None, gate["passes"])
            self.assertIn(" ".join(case.get("name").split()), " ".join(result.stdout.split()))

    def test_damaged_records_are_told(self):
        run = self.run_experiment()
        next((self.folder / run).glob("strict/rigid/3/grants.csv*")).unlink()
        comparison = self.compare(run, code=1)["comparison"]
        self.assertTrue(comparison["damaged"])
        self.assertIn("DAMAGED", " ".join(comparison["sides"][0]["notes"]))

    def test_tables_and_json_exclude_each_other(self):
        result = self.cosched("compare", "x", "--json", "--explain")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--json", result.stderr)


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()

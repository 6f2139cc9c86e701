#!/usr/bin/env python3
"""Is what `cosched compare --json` prints as its schema says, and the same as its table? compare_json_test.py COSCHED [unittest args]."""
import sys
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from json_test_case import JsonTestCase, main  # noqa: E402
from simulated_experiment import ROOT, experiment  # noqa: E402

SERVICES = ROOT / "experiments/examples/services.toml"


class CompareJsonTest(JsonTestCase):
    def compare(self, *arguments, code=0):
        return self.document("compare", *arguments, "--json", schema="compare", code=code)

    def test_one_run_has_what_its_table_has(self):
        run = self.cosched.run()
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

    def test_all_pairs_are_there_where_the_baseline_was_chosen(self):
        policies = ("strict", "equal-share", "round-robin", "srpt")
        chosen = experiment(trials=9).replace('policies = ["strict", "equal-share"]', f"policies = {list(policies)}")
        self.assertIn("srpt", chosen)
        (self.folder / "chosen.toml").write_text(chosen)
        run = self.cosched.run("chosen.toml")

        def pairs_of(*options):
            [side] = self.compare(run, *options)["comparison"]["sides"]
            [question] = [one for one in side["questions"] if (one["of"], one["elasticity"]) == ("policies", "malleable")]
            return question, {frozenset((row["name"], row.get("against", question["base"]))): row for row in question["rows"] + question["others"]}
        question, pairs = pairs_of()
        self.assertEqual((len(question["rows"]), len(question["others"]), len(pairs)), (3, 3, 6))
        for metric, count in question["comparisons"].items():
            tested = [row["effects"][metric] for row in pairs.values() if row["effects"][metric]["tested"]]
            self.assertEqual(len(tested), count)
            self.assertGreater(count, 3)
            # Holm: the smallest of so many times as much, and none below its own.
            self.assertAlmostEqual(min(effect["corrected_p"] for effect in tested), min(1, count * min(effect["p"] for effect in tested)))
            self.assertTrue(all(effect["corrected_p"] >= effect["p"] for effect in tested))
        # Each pair is what a comparison with that baseline says.
        for row in question["others"]:
            named, of_named = pairs_of("--baseline", row["against"])
            self.assertEqual(named["others"], [])
            for metric, effect in row["effects"].items():
                theirs = of_named[frozenset((row["name"], row["against"]))]["effects"][metric]
                self.assertEqual((effect["ratio"], effect.get("p")), (theirs["ratio"], theirs.get("p")))

    def test_runs_that_differ_stand_side_by_side(self):
        runs = [self.cosched.run(), self.cosched.run("x.toml", "--set", "trace.jobs=6")]
        comparison = self.compare(*runs)["comparison"]
        self.assertEqual([side["runs"] for side in comparison["sides"]], [[str(run)] for run in runs])
        [between] = comparison["between"]
        self.assertEqual((between["side"], between["against"]), ("B", "A"))
        self.assertIn("trace.jobs: 12 in A, 6 in B", between["not_pooled"])
        self.assertTrue(all(row["effects"]["makespan_s"]["ratio"] < 1 for row in between["rows"]))

    def test_a_sweep_has_its_points(self):
        (self.folder / "sweep.toml").write_text(experiment(tables="[sweep]\ntrace.jobs = [3, 6]"))
        run = self.cosched.run("sweep.toml", "--trials", "2")
        data = self.compare(run)
        self.assertIsNone(data["comparison"])
        [sweep] = data["sweeps"]
        self.assertEqual([point["values"] for point in sweep["points"]], [{"trace.jobs": "3"}, {"trace.jobs": "6"}])
        self.assertEqual({point["comparison"]["sides"][0]["cells"] for point in sweep["points"]}, {8})

    def test_services_have_their_medians(self):
        run = self.cosched.run(SERVICES, "--trials", "2")
        [side] = self.compare(run)["comparison"]["sides"]
        services = side["treatments"][0]["services"]
        self.assertTrue(services)
        self.assertIn("p99_latency_ms", services[0]["medians"])
        self.assertEqual(services[0]["medians"]["requests"]["values"], 2)

    def test_gates_are_there_as_they_are_told(self):
        gates = ('\n[[gate]]\nmetric = "makespan"\npolicy = "equal-share"\nagainst = "strict"\nmax = 10\n'
                 '[[gate]]\nmetric = "lost"\npolicy = "strict"\nelasticity = "rigid"\nmin = 1\n')
        (self.folder / "gates.toml").write_text(experiment(tables=gates))
        result = self.cosched("run", "gates.toml", "--no-plots", "--junit", "gates.xml", code=1)
        run = self.folder / result.stdout.rsplit("results: ", 1)[1].splitlines()[0]
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
        run = self.cosched.run()
        next(run.glob("strict/rigid/3/grants.csv*")).unlink()
        comparison = self.compare(run, code=1)["comparison"]
        self.assertTrue(comparison["damaged"])
        self.assertIn("DAMAGED", " ".join(comparison["sides"][0]["notes"]))

    def test_tables_and_json_exclude_each_other(self):
        error = self.document("compare", "x", "--json", "--explain", schema="error", code=2)
        self.assertIn("--json", error["message"])


if __name__ == "__main__":
    main()

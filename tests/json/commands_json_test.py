#!/usr/bin/env python3
"""Is what run, validate, list, doctor and runs print with --json as their schemas say, the same as their text, and all that stands on standard
output? commands_json_test.py COSCHED [unittest args]."""
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import json_test_case  # noqa: E402
from json_test_case import SCHEMAS, JsonTestCase, check, main  # noqa: E402
from simulated_experiment import experiment  # noqa: E402


def words(text):
    return " ".join(text.split())


class RunJsonTest(JsonTestCase):
    def run_json(self, file="x.toml", *more, code=0):
        return self.document("run", file, "--json", *more, schema="run", code=code)

    def test_a_run_has_its_cells_and_its_comparison(self):
        data = self.run_json("x.toml", "--no-plots", "--trials", "2")
        self.assertEqual((data["status"], data["experiment"]), ("done", "x"))
        self.assertEqual(data["counts"], {"cells": 8, "done": 8, "failed": 0, "damaged": 0, "missing": 0, "marked": 0, "lossy": 0})
        self.assertEqual({cell["name"] for cell in data["cells"]},
                         {f"{policy}/{elasticity}/{trial}" for policy in ("strict", "equal-share") for elasticity in ("rigid", "malleable")
                          for trial in (1, 2)})
        for cell in data["cells"]:
            self.assertTrue((self.folder / cell["folder"] / "cell.json").exists())
            self.assertEqual((cell["jobs"], cell["lost_jobs"], cell["point"]), (12, 0, None))
            self.assertGreater(cell["makespan_s"], 0)
        compared = self.document("compare", data["run"], "--json", schema="compare")
        self.assertEqual(data["comparison"], compared)

    def test_plots_and_progress_are_not_on_standard_output(self):
        result = self.cosched("run", "x.toml", "--json", "--trials", "2")
        check(json.loads(result.stdout), "run")
        self.assertIn("results go to", result.stderr)
        self.assertTrue(".png" in result.stderr or "no plots" in result.stderr, result.stderr)

    def test_a_sweep_has_its_points(self):
        (self.folder / "sweep.toml").write_text(experiment(trials=1, tables="[sweep]\ntrace.jobs = [3, 6]"))
        data = self.run_json("sweep.toml", "--no-plots")
        self.assertEqual({cell["point"] for cell in data["cells"]}, {"jobs=3", "jobs=6"})
        self.assertIsNone(data["comparison"]["comparison"])
        self.assertEqual(len(data["comparison"]["sweeps"][0]["points"]), 2)

    def test_cells_that_fail_are_told(self):
        (self.folder / "bad.toml").write_text(experiment(name="bad", trials=1)
                                             .replace('model = "resnet20"\nbatch = 32\nsteps = 20', 'model = "chaos:crashes"\nsteps = 5000'))
        data = self.run_json("bad.toml", "--no-plots", "--policy", "strict", code=1)
        self.assertEqual(data["status"], "failed")
        self.assertEqual(data["counts"]["cells"], 2)
        self.assertEqual(data["counts"]["lossy"] + data["counts"]["failed"], 2)

    def test_what_is_refused_is_a_document_too(self):
        error = self.document("run", "x.toml", "--json", "--set", "trace.jobs=0", schema="error", code=2)
        self.assertEqual(error["key"], "trace.jobs")
        self.assertIn(error["problem"], error["message"])
        self.assertTrue(error["allowed"])
        (self.folder / "bad.toml").write_text('name = "bad"\nbackend = "nowhere"\n')
        error = self.document("run", "bad.toml", "--json", schema="error", code=2)
        self.assertEqual((Path(error["file"]).name, error["line"]), ("bad.toml", 2))
        self.assertIn("--jsn", self.document("run", "x.toml", "--json", "--jsn", schema="error", code=2)["message"])
        self.document("run", "x.toml", "--json", "--dry-run", schema="error", code=2)

    def test_an_interrupted_run_keeps_what_is_whole(self):
        (self.folder / "long.toml").write_text(experiment(name="long", trials=400))
        with subprocess.Popen([json_test_case.BINARY, "run", "long.toml", "--json", "--no-plots", "--jobs", "1", "--set", "trace.jobs=2000"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=self.folder,
                              env={**os.environ, "COSCHED_LOCKS": str(self.folder)}) as process:
            while not list(self.folder.glob("results/long/*/*/*/*/cell.json")):
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            data = json.loads(process.communicate()[0])
        self.assertEqual(process.returncode, 130)
        check(data, "run")
        self.assertEqual((data["exit"], data["status"], data["comparison"]), (130, "interrupted", None))
        self.assertGreater(data["counts"]["done"], 0)
        self.assertGreater(data["counts"]["missing"], 0)


class ValidateJsonTest(JsonTestCase):
    # A simulated run stands in for one on hardware, so its experiment has to fit this machine.
    def setUp(self):
        super().setUp()
        of_any_size = (self.folder / "x.toml").read_text().replace('topology = "core:4 pu:1"\n', "").replace("preferred = 2, max = 4", "preferred = 1, max = 1")
        (self.folder / "x.toml").write_text(of_any_size)

    def test_a_world_that_is_off_is_told_as_the_table_tells_it(self):
        run = self.cosched.run("x.toml", "--set", "trace.gap.sd_s=0")
        arguments = ("validate", "x.toml", "--measured", run, "--set", "trace.gap.sd_s=0", "--no-plots", "--max-error", "makespan=0.00001",
                     "--min-tau", "0.1", "--set", "simulation.noise=0.4")
        table = self.cosched(*arguments, code=1).stdout
        data = self.document(*arguments, "--json", schema="validate", code=1)
        self.assertEqual(data["runs"][0]["measured"], str(run))
        self.assertEqual(len(data["validation"]["cells"]), 32)
        self.assertEqual([gate["gate"] for gate in data["gates"]], ["max-error", "min-tau", "min-tau"])
        self.assertFalse(data["gates"][0]["holds"])
        for gate in data["gates"]:
            self.assertIn(f"gate: {gate['text']}\n", table)
        for policy in data["validation"]["policies"]:
            error = policy["error"]["makespan"]
            shown = f"{policy['policy']} {policy['elasticity']} {error['value'] * 100:+.1f} [{error['low'] * 100:+.1f} {error['high'] * 100:+.1f}]"
            self.assertIn(shown, words(table))
        for note in data["validation"]["notes"]:
            self.assertIn(f"  * {note}\n", table)
        for step in data["steps"]:
            self.assertIn(f"{step['measured_s'] * 1e3:.2f} {step['simulated_s'] * 1e3:.2f}", words(table))
        stored = json.loads((run / "validation.json").read_text())
        self.assertEqual(stored, data["validation"])

    def test_services_have_theirs(self):
        examples = SCHEMAS.parent / "examples"
        text = (examples / "services.toml").read_text().replace('topology = "pack:1 [numa] l3:1 core:8 pu:1"', "").replace("preferred = 4, max = 8", "preferred = 1, max = 1")
        (self.folder / "services.toml").write_text(text.replace("../profiles", str(examples.parent / "profiles")))
        more = ("--trials", "2", "--set", "trace.requests.0.count=500", "--set", "workload.resnet20.steps=20")
        run = self.cosched.run("services.toml", *more)
        data = self.document("validate", "services.toml", "--measured", run, *more, "--no-plots", "--json", schema="validate")
        self.assertTrue(data["validation"]["services"]["services"])
        self.assertEqual(data["gates"], [])

    def test_a_run_of_other_arrivals_is_refused(self):
        run = self.cosched.run()
        error = self.document("validate", "x.toml", "--measured", run, "--seed", "7", "--json", schema="error", code=2)
        self.assertIn("other arrivals", error["message"])


class ListJsonTest(JsonTestCase):
    def items(self, *arguments):
        data = self.document("list", *arguments, "--json", schema="list")
        self.assertEqual(data["list"], arguments[0] if arguments else "lists")
        self.assertTrue(data["items"])
        return data["items"], self.cosched("list", *arguments).stdout

    def test_names_are_those_of_the_table(self):
        for what in ("policies", "dispatches", "models", "formats", "experiments", "figures"):
            items, table = self.items(what)
            first = table.split("\n\n", maxsplit=1)[0].splitlines()[1:]
            self.assertEqual([item["name"] for item in items], [line.split()[0] for line in first], what)
            for item, line in zip(items, first):
                self.assertIn(item["summary"], line)

    def test_parameters_are_those_of_the_table(self):
        for what in ("policies", "dispatches"):
            items, table = self.items(what)
            keys = [parameter["key"] for item in items for parameter in item["parameters"]]
            self.assertEqual(keys, [line.split()[0] for line in table.split("\n\n")[1].splitlines()[1:]])

    def test_models_have_their_figures(self):
        items, table = self.items("models")
        [resnet] = [item for item in items if item["name"] == "resnet20"]
        self.assertEqual(resnet["image"], [32, 32, 3])
        self.assertIn(f" {resnet['classes']} {resnet['parameters']} ", words(table))
        self.assertIsNone(next(item for item in items if item["name"] == "onnx:FILE")["parameters"])
        self.assertIn("exits", [behaviour["name"] for behaviour in items[-1]["behaviours"]])

    def test_keys_have_their_sections(self):
        items, table = self.items("keys")
        for item in items:
            self.assertIn(f"\n{item['heading'] or ''}{'  ' * bool(item['heading'])}{item['about']}\n", "\n" + table)
            for key in item["keys"]:
                self.assertIn(f"\n  {key['key'][:24].split()[0]}", table)
        [sampling], table = self.items("keys", "sampling")
        period = next(key for key in sampling["keys"] if key["key"] == "period_ms")
        self.assertEqual((period["type"], period["default"], period["allowed"]), ("integer", "100", "1 to 86400000"))
        self.assertIn("did you mean", self.document("list", "keys", "machin", "--json", schema="error", code=2)["message"])

    def test_lists_are_listed(self):
        items, table = self.items()
        self.assertEqual([f"cosched list {item['name']}" for item in items], [" ".join(line.split()[:3]) for line in table.splitlines()])


class DoctorJsonTest(JsonTestCase):
    # A table's marks and names; what was found may be another a moment later.
    @staticmethod
    def shown(text):
        marks = {"ok": "ok", "note": "note", "MISSING": "missing"}
        return [(marks[line[:9].strip()], line[9:24].strip()) for line in text.splitlines() if line[:9].strip() in marks]

    def test_the_machine(self):
        data = self.document("doctor", "--json", schema="doctor", code=self.cosched.try_("doctor").returncode)
        self.assertIsNone(data["program"])
        self.assertTrue(data["machine"]["can_run"])
        self.assertEqual([(finding["severity"], finding["what"]) for finding in data["findings"]], self.shown(self.cosched("doctor").stdout))
        self.assertIn(data["machine"]["build"]["version"], self.cosched("--version").stdout)

    def test_a_program_and_what_it_prints_is_not_ours(self):
        busy = "import time\nprint('of the program', flush=True)\nend = time.time() + 20\nwhile time.time() < end: pass"
        result = self.cosched.try_("doctor", "--json", "--seconds", "1", "--", sys.executable, "-c", busy)
        data = json.loads(result.stdout)
        check(data, "doctor")
        self.assertEqual(data["exit"], result.returncode)
        self.assertIn("of the program", result.stderr)
        self.assertIsNone(data["machine"])
        self.assertEqual(data["program"]["end"], "then it was ended")
        facts = data["program"]["facts"]
        self.assertEqual((facts["processes"], facts["most_wanting"]), (1, 1))
        found = {finding["what"]: finding["found"] for finding in data["findings"]}
        self.assertTrue(found["threads"].startswith(f"{facts['threads']} in 1 process; 1 at most"), found)
        self.assertTrue(found["used"].startswith(f"{facts['used_cores']:.2f} of "), found)

    def test_one_that_is_over_at_once_and_one_that_is_not_there(self):
        soon = self.cosched.try_("doctor", "--json", "--", "true")  # Perhaps it was seen, perhaps not.
        data = json.loads(soon.stdout)
        check(data, "doctor")
        self.assertEqual((data["exit"], data["program"]["facts"] is None), (soon.returncode, not data["findings"]))
        self.assertIn("no-such-program", self.document("doctor", "--json", "--", "no-such-program", schema="error", code=2)["message"])
        self.document("doctor", "--json", "--clean", schema="error", code=2)


class RunsJsonTest(JsonTestCase):
    def test_runs_are_those_of_the_table(self):
        self.assertEqual(self.document("runs", "list", "--json", schema="runs")["runs"], [])
        self.cosched.run("x.toml", "--trials", "1")
        self.cosched.run("x.toml", "--trials", "2")
        listed = self.document("runs", "list", "--json", schema="runs")["runs"]
        table = self.cosched("runs", "list").stdout.splitlines()
        self.assertEqual([run["path"] for run in listed], [line.split()[0] for line in table[1:-1]])
        for run, line in zip(listed, table[1:]):
            self.assertEqual(run["status"], "done")
            self.assertIn(f"{run['done']}/{run['cells']}", line)
            self.assertIn(run["commit"], line)
        # Both may have begun in one second, by which the table is ordered.
        self.assertEqual(sorted(run["cells"] for run in listed), [4, 8])
        [shown] = self.document("runs", "show", listed[1]["path"], "--json", schema="runs")["runs"]
        self.assertEqual(shown, listed[1])
        self.document("runs", "show", "nowhere", "--json", schema="error", code=2)


class PromiseTest(JsonTestCase):
    # What commands promise of each other: a member without a description is told by its name; schemas are closed.
    def test_schemas_are_closed_and_name_what_must_be_there(self):
        def walk(schema, place):
            if isinstance(schema, list):
                for part in schema:
                    walk(part, place)
            if not isinstance(schema, dict):
                return
            if "properties" in schema and schema.get("type") == "object":
                self.assertIs(schema.get("additionalProperties"), False, place)
                optional = set(schema["properties"]) - set(schema.get("required", []))
                self.assertLessEqual(optional, {"behaviours", "low", "high", "level", "p", "corrected_p", "effect", "wins", "decided", "from", "to", "not"}, place)
            for key, part in schema.items():
                walk(part, f"{place}/{key}")
        names = sorted(file.name for file in SCHEMAS.glob("*.schema.json"))
        self.assertLessEqual({f"{name}.schema.json" for name in ("run", "compare", "validate", "list", "doctor", "runs", "error", "reproduce")}, set(names))
        for name in names:
            walk(json.loads((SCHEMAS / name).read_text()), name)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""`cosched run --launcher slurm` against a Slurm of this one machine (one_machine.sh): the records of a simulated sweep are those
of a local run, byte for byte; a cell whose task dies is run once more; one that dies again is recorded as failed.

  launcher_test.py COSCHED [unittest arguments]      exits with 77 where Slurm can't be started, and says why
"""
import filecmp
import json
import os
import signal
import subprocess

from one_machine import HERE, OneMachineCase, main, why_not

EXPERIMENT = """
name = "small"
backend = "simulated"
trials = 2
policies = ["strict", "equal-share"]
[machine]
topology = "pack:1 [numa] l3:1 core:4 pu:1"
profile = "{profile}"
[trace]
jobs = 8
[[workload]]
model = "resnet20"
steps = 20
cores = {{ min = 1, preferred = 2, max = 4 }}
[sweep]
trace.gap.mean_s = [0.1, 0.5]
"""
MEASURED = """
name = "small"
trials = 1
policies = ["strict"]
[machine]
{machine}
[trace]
jobs = 1
[[workload]]
model = "lenet5"
steps = 5
cores = {{ min = 1, max = 1 }}
"""
# Stands before cosched, and is what the tasks of the array call again. A task in DYING dies instead of running, as often as the
# number there says; with a file "hold" it waits until that is gone, and with a file "nobody" it has no rights. What runs on a node has the
# CPUs of the file "tasks", else of "nodes", where there is one: nodes that are not like the machine that submits.
WRAPPER = """#!/bin/bash
cpus={folder}/nodes
if [ -n "$SLURM_ARRAY_TASK_ID" ] && [ -s {folder}/tasks ]; then cpus={folder}/tasks; fi
if [ -n "$SLURM_JOB_ID" ] && [ -s $cpus ]; then taskset -pc "$(cat $cpus)" $$ > /dev/null; fi
file={dying}/$SLURM_ARRAY_TASK_ID
if [ -n "$SLURM_ARRAY_TASK_ID" ] && [ -s "$file" ] && [ "$(cat "$file")" -gt 0 ]; then
  echo $(($(cat "$file") - 1)) > "$file"
  kill -9 $$
fi
nobody=()
if [ -n "$SLURM_ARRAY_TASK_ID" ]; then
  while [ -e {folder}/hold ]; do sleep 0.1; done
  if [ -e {folder}/nobody ]; then nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups); fi
fi
exec -a "$0" "${{nobody[@]}}" {cosched} "$@"
"""


class LauncherTest(OneMachineCase):
    def setUp(self):
        super().setUp()
        os.environ["COSCHED_LOCKS"] = str(self.folder)  # Runs of others are in nobody's way.
        (self.folder / "dying").mkdir()
        wrapper = self.folder / "cosched"
        wrapper.write_text(WRAPPER.format(dying=self.folder / "dying", cosched=self.cosched, folder=self.folder))
        wrapper.chmod(0o755)
        profile = HERE.parent.parent / "experiments" / "profiles" / "example.json"
        self.experiment = self.folder / "small.toml"
        self.experiment.write_text(EXPERIMENT.format(profile=profile))

    def command(self, out, *options):
        return [str(self.folder / "cosched"), "run", str(self.experiment), "--no-plots", "--out", str(self.folder / out), *options]

    def run_cosched(self, out, *options):
        ended = subprocess.run(self.command(out, *options), capture_output=True, text=True, timeout=300)
        runs = list((self.folder / out / "small").glob("*"))
        self.assertEqual(len(runs), 1, ended.stderr)
        return ended, runs[0]

    def records(self, run):
        """Files of whole cells below a run, by their path in it."""
        cells = [file.parent for file in run.glob("*/*/*/*/cell.json") if file.parent.name.isdigit()]
        return {file.relative_to(run): file for cell in cells for file in cell.iterdir()}

    def assert_same_records(self, run, other):
        mine, others = self.records(run), self.records(other)
        self.assertEqual(sorted(mine), sorted(others))
        self.assertEqual(len({path.parent for path in mine}), 8)
        different = [path for path in mine if not filecmp.cmp(mine[path], others[path], shallow=False)]
        self.assertEqual(different, [])

    def test_records_are_those_of_a_local_run(self):
        local, here = self.run_cosched("local")
        self.assertEqual(local.returncode, 0, local.stderr)
        slurm, there = self.run_cosched("slurm", "--launcher", "slurm")
        self.assertEqual(slurm.returncode, 0, slurm.stderr)
        self.assertIn("[8/8] cells", slurm.stderr)
        self.assert_same_records(here, there)
        for summary in here.glob("*/summary.csv"):
            self.assertEqual(summary.read_text(), (there / summary.relative_to(here)).read_text())
        self.assertEqual(json.loads((there / "manifest.json").read_text())["status"], "done")

    def test_a_task_that_dies_is_run_once_more(self):
        (self.folder / "dying" / "3").write_text("1")
        slurm, there = self.run_cosched("slurm", "--launcher", "slurm")
        self.assertEqual(slurm.returncode, 0, slurm.stderr)
        self.assertIn("1 cell failed and go to Slurm once more", slurm.stderr)
        _, here = self.run_cosched("local")
        self.assert_same_records(here, there)

    def test_a_task_that_dies_twice_is_recorded(self):
        # In the second array the first of the two cells that are left is task 0.
        (self.folder / "dying" / "3").write_text("1")
        (self.folder / "dying" / "0").write_text("2")
        slurm, there = self.run_cosched("slurm", "--launcher", "slurm")
        self.assertEqual(slurm.returncode, 1, slurm.stderr)
        states = [json.loads(file.read_text()) for file in there.glob("*/*/*/*/cell.json")]
        failed = [state for state in states if state["status"] == "failed"]
        self.assertEqual((len(states), len(failed)), (8, 1))
        self.assertIn("Slurm task", failed[0]["reason"])
        self.assertEqual(json.loads((there / "manifest.json").read_text())["status"], "failed")

    def test_an_interrupt_cancels_the_array_and_resume_completes_it(self):
        subprocess.run(["scontrol", "update", "nodename=n[1-2]", "state=drain", "reason=test"], check=True)
        running = subprocess.Popen(self.command("slurm", "--launcher", "slurm"), stderr=subprocess.PIPE, text=True)
        self.wait_for(lambda: self.queue() != "", "the array is not in the queue")
        running.send_signal(signal.SIGINT)
        errors = running.communicate(timeout=60)[1]
        self.assertEqual(running.returncode, 130, errors)
        self.wait_for(lambda: self.queue() == "", "the array is still in the queue")
        subprocess.run(["scontrol", "update", "nodename=n[1-2]", "state=resume"], check=True)
        slurm, there = self.run_cosched("slurm", "--launcher", "slurm", "--resume")
        self.assertEqual(slurm.returncode, 0, slurm.stderr)
        self.assertEqual(len({path.parent for path in self.records(there)}), 8)
        self.assertEqual(json.loads((there / "manifest.json").read_text())["status"], "done")

    def test_a_measured_sweep_goes_on_without_a_task_that_dies(self):
        self.experiment.write_text(MEASURED.format(machine="").replace("trials = 1", "trials = 3"))
        (self.folder / "dying" / "2").write_text("1")
        (self.folder / "dying" / "0").write_text("2")  # In the second array one of the two that are left.
        slurm, run = self.run_cosched("slurm", "--launcher", "slurm")
        self.assertEqual(slurm.returncode, 1, slurm.stderr)
        states = sorted(json.loads(file.read_text())["status"] for file in run.glob("strict/*/*/cell.json"))
        self.assertEqual(states, ["done", "done", "failed"])

    def two_cpus(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("needs 2 CPUs")
        return cpus

    def test_simulated_records_do_not_depend_on_the_nodes(self):
        cpus = self.two_cpus()
        text = self.experiment.read_text()
        self.experiment.write_text("".join(line for line in text.splitlines(True) if not line.startswith("topology")).replace("max = 4", "max = 2"))
        local, here = self.run_cosched("local")
        self.assertEqual(local.returncode, 0, local.stderr)
        (self.folder / "nodes").write_text(str(cpus[1]))
        slurm, there = self.run_cosched("slurm", "--launcher", "slurm")
        self.assertEqual(slurm.returncode, 0, slurm.stderr)
        self.assert_same_records(here, there)

    def test_cells_that_measure_are_planned_for_a_node(self):
        cpus = self.two_cpus()
        (self.folder / "nodes").write_text(str(cpus[1]))
        self.experiment.write_text(MEASURED.format(machine=f'cores = "{cpus[1]}"'))
        slurm, run = self.run_cosched("slurm", "--launcher", "slurm")
        self.assertEqual(slurm.returncode, 0, slurm.stderr)
        self.assertIn("waits for a node", slurm.stderr)
        self.experiment.write_text(MEASURED.format(machine=""))
        slurm, run = self.run_cosched("slurm-all", "--launcher", "slurm")
        self.assertEqual(slurm.returncode, 0, slurm.stderr)
        manifest = json.loads((run / "manifest.json").read_text())
        self.assertEqual((manifest["experiment"]["machine"]["cores"], manifest["host"]["cpus"]), (str(cpus[1]), str(cpus[1])))
        self.assertEqual([path for path in (run.parent.parent).iterdir() if path.name.startswith(".node")], [])
        cell = json.loads(next(run.glob("strict/*/*/cell.json")).read_text())
        self.assertEqual((cell["status"], cell["machine_cores"]), ("done", str(cpus[1])))

    def test_a_node_of_another_kind_fails_its_cells_and_says_why(self):
        cpus = self.two_cpus()
        (self.folder / "nodes").write_text(str(cpus[1]))
        (self.folder / "tasks").write_text(str(cpus[0]))
        self.experiment.write_text(MEASURED.format(machine=""))
        slurm, run = self.run_cosched("slurm", "--launcher", "slurm")
        self.assertEqual(slurm.returncode, 1, slurm.stderr)
        self.assertIn(f"this node has CPUs {cpus[0]} ", (run / "slurm" / "attempt-1.0.log").read_text())
        self.assertEqual(json.loads(next(run.glob("strict/*/*/cell.json")).read_text())["status"], "failed")

    def test_a_machine_that_is_too_small_itself_may_submit(self):
        cpus = self.two_cpus()
        self.experiment.write_text(MEASURED.format(machine="nodes = 2"))
        ended = subprocess.run(["taskset", "-c", str(cpus[0]), *self.command("slurm", "--launcher", "slurm")], capture_output=True, text=True,
                               timeout=300)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        manifest = json.loads(next((self.folder / "slurm").glob("small/*/manifest.json")).read_text())
        self.assertEqual(manifest["experiment"]["machine"]["nodes"], 2)

    def test_a_resumed_run_is_for_the_node_that_it_was_planned_for(self):
        cpus = self.two_cpus()
        (self.folder / "nodes").write_text(str(cpus[1]))
        (self.folder / "hold").touch()
        self.experiment.write_text(MEASURED.format(machine=""))
        running = subprocess.Popen(self.command("slurm", "--launcher", "slurm"), stderr=subprocess.PIPE, text=True)
        self.wait_for(lambda: list((self.folder / "slurm").glob("small/*/slurm/attempt-1.sh")), "nothing was submitted")
        running.send_signal(signal.SIGINT)
        errors = running.communicate(timeout=60)[1]
        self.assertEqual(running.returncode, 130, errors)
        self.wait_for(lambda: self.queue() == "", "the array is still in the queue")
        # Another node would tell now what it is.
        (self.folder / "nodes").write_text(str(cpus[0]))
        (self.folder / "tasks").write_text(str(cpus[1]))
        (self.folder / "hold").unlink()
        self.refused_while_a_job_of_it_is_listed()
        slurm, run = self.run_cosched("slurm", "--launcher", "slurm", "--resume")
        self.assertEqual(slurm.returncode, 0, slurm.stderr)
        self.assertNotIn("waits for a node", slurm.stderr)
        self.assertTrue((run / "slurm" / "attempt-2.sh").exists(), "what the first attempt said is kept")
        cell = json.loads(next(run.glob("strict/*/*/cell.json")).read_text())
        self.assertEqual((cell["status"], cell["machine_cores"]), ("done", str(cpus[1])))

    def refused_while_a_job_of_it_is_listed(self):
        """Two arrays would write the same cells."""
        run = next((self.folder / "slurm").glob("small/*"))
        job = subprocess.run(["sbatch", "--parsable", "--hold", "--output=/dev/null", "--wrap=true"], capture_output=True, text=True,
                             check=True).stdout.strip()
        ours = (run / "slurm" / "attempt-1.job").read_text()
        (run / "slurm" / "attempt-1.job").write_text(job + "\n")
        slurm, _ = self.run_cosched("slurm", "--launcher", "slurm", "--resume")
        subprocess.run(["scancel", job], check=True)
        self.assertEqual(slurm.returncode, 2, slurm.stderr)
        self.assertIn(f"Slurm's job {job} of this run has not ended", slurm.stderr)
        (run / "slurm" / "attempt-1.job").write_text(ours)
        self.wait_for(lambda: self.queue() == "", "the held job is still in the queue")

    def test_a_node_of_other_rights_fails_its_cells_and_says_why(self):
        self.folder.chmod(0o777)
        (self.folder / "nobody").touch()
        self.experiment.write_text(MEASURED.format(machine=""))
        slurm, run = self.run_cosched("slurm", "--launcher", "slurm")
        planned = json.loads((run / "manifest.json").read_text())["experiment"]["machine"]["actuator"]
        if planned == "affinity":
            self.skipTest("root moves tenants by affinity here, as everybody does")
        self.assertEqual(slurm.returncode, 1, slurm.stderr)
        self.assertIn(f"this node moves tenants by affinity, the run was planned for {planned}",
                      (run / "slurm" / "attempt-1.0.log").read_text())
        self.assertEqual(json.loads(next(run.glob("strict/*/*/cell.json")).read_text())["status"], "failed")


if __name__ == "__main__":
    main(LauncherTest, why_not())

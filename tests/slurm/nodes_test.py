#!/usr/bin/env python3
"""`backend = "slurm"` on the two nodes of a Slurm of this one machine (one_machine.sh), each with one of its cores: the decisions are
those of a run without Slurm; a service is answered on both nodes; an agent that is killed takes only its own jobs with it; and nothing
is left: no process, no job in the queue.

  nodes_test.py COSCHED [unittest arguments]         exits with 77 where Slurm can't be started, and says why
"""
import csv
import json
import os
import signal
import subprocess
from pathlib import Path

from one_machine import HERE, OneMachineCase, main, why_not

JOBS = """
name = "nodes"
backend = "slurm"
trials = 1
policies = ["scripted"]
policy.scripted.timetable = "0:1"
trace.file = "jobs.csv"
[machine]
cores = 2
nodes = 2
actuator = "affinity"
kernel_rates = "fixed"
[[workload]]
model = "lenet5"
batch = 16
cores = { min = 1, max = 1 }
"""
SERVICE = """
name = "nodes"
backend = "slurm"
trials = 1
policies = ["static-shares"]
[machine]
cores = 2
nodes = 2
kernel_rates = "fixed"
[[workload]]
model = "lenet5"
mode = "serve"
batch = 1
per_node = true
[[trace.requests]]
service = "lenet5"
count = 200
gap = { distribution = "fixed", mean_s = 0.01 }
"""


def why_not_here():
    cores = len(os.sched_getaffinity(0))
    return why_not() or ("it has one core" if cores < 2 else "")


def processes(folder, command):
    """{pid: arguments} of those with that command of the binary which the test with this folder, or what it started, has started."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = [word.decode() for word in (process / "cmdline").read_bytes().split(b"\0")[:-1]]
            environment = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if len(words) > 2 and words[1] == command and f"COSCHED_LOCKS={folder}".encode() in environment:
            found[int(process.name)] = words
    return found


class NodesTest(OneMachineCase):
    def setUp(self):
        super().setUp()
        os.environ["COSCHED_LOCKS"] = str(self.folder)
        self.running = None

    def tearDown(self):
        self.end_what_runs()
        self.wait_for(lambda: self.queue() == "", "a job is left in the queue")
        self.wait_for(lambda: self.agents() == {}, "agents are left")

    def start(self, *steps):
        """A run on both nodes of two jobs of so many steps, both at work."""
        self.jobs(*steps)
        running = subprocess.Popen(self.command(JOBS, 2), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.running = running
        self.wait_for(lambda: len(self.tenants()) == 2, "the jobs do not run")
        return running

    def end_what_runs(self):
        """A run that did not do what its test waited for: its words are told, and the next test begins with a free cluster."""
        if self.running and self.running.poll() is None:
            self.running.terminate()
            print(f"the run was ended; it had said: {self.running.communicate(timeout=60)[1]}")

    def command(self, text, nodes, *options):
        """The run in a job of so many nodes; 0: in none."""
        (self.folder / "x.toml").write_text(text)
        job = ["salloc", "--quiet", f"--nodes={nodes}"] if nodes else []
        return [*job, self.cosched, "run", str(self.folder / "x.toml"), "--no-plots", "--out", str(self.folder / "out"), *options]

    def run_cosched(self, text, nodes, *options):
        return subprocess.run(self.command(text, nodes, *options), capture_output=True, text=True, timeout=300)

    def cell(self):
        """The only cell of the latest run."""
        run = max((self.folder / "out" / "nodes").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)
        cells = [file.parent for file in run.glob("*/*/1/cell.json")]
        self.assertEqual(len(cells), 1)
        return cells[0]

    def rows(self, table):
        with open(self.cell() / table) as file:
            return list(csv.DictReader(file))

    def jobs(self, *steps):
        text = "arrival_s,workload,steps\n" + "".join(f"0,lenet5,{one}\n" for one in steps)
        (self.folder / "jobs.csv").write_text(text)

    def decisions(self):
        """Those that changed anything, and what jobs did; in which order two that start at once are ready is left to the kernel, so
        is the order of the file, to which a decision comes when its grants have settled."""
        rows = sorted(self.rows("decisions.csv"), key=lambda row: int(row["decision"]))
        return [(row["event"], row["allocation"]) for row in rows if row["allocation"] or row["event"].startswith("job-")]

    def test_decisions_are_those_of_one_machine(self):
        # Ends far apart: the first job, the second, the fourth in its place, and then the third, which took the first's.
        self.jobs(20, 1000, 12000, 20)
        ended = self.run_cosched(JOBS, 2)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        nodes = self.decisions()
        self.assertEqual(len(self.rows("steps.csv")), 20 + 1000 + 12000 + 20)
        logs = sorted(file.name for file in self.cell().glob("node-*.log"))
        self.assertEqual(logs, ["node-n1.log", "node-n2.log"])
        self.assertFalse((self.cell() / "agents.token").exists())
        self.assertNotIn("clock", " ".join(json.loads((self.cell() / "cell.json").read_text())["marks"]))
        ended = self.run_cosched(JOBS, 0, "--backend", "hardware")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(nodes, self.decisions())
        self.assertGreaterEqual(len(nodes), 8)

    def test_an_agent_that_is_killed_takes_only_its_jobs_with_it(self):
        running = self.start(3000, 1_000_000)
        os.kill(self.agents()["n2"], signal.SIGKILL)
        errors = running.communicate(timeout=120)[1]
        self.assertEqual(running.returncode, 1, errors)
        jobs = self.rows("jobs.csv")
        self.assertEqual([job["state"] for job in jobs if job["steps"] == "3000"], ["finished"])
        lost = [job for job in jobs if job["state"] == "failed"]
        self.assertEqual(len(lost), 1)
        self.assertIn("the agent of node n2 was lost", lost[0]["reason"])
        self.assertEqual(self.tenants(), {})

    def test_a_harness_that_is_killed_leaves_nothing(self):
        running = self.start(1_000_000, 1_000_000)
        harness = list(processes(self.folder, "run"))
        self.assertEqual(len(harness), 1)
        os.kill(harness[0], signal.SIGKILL)
        running.communicate(timeout=120)
        self.wait_for(lambda: self.tenants() == {}, "tenants are left")

    def test_requests_are_answered_on_both_nodes(self):
        ended = self.run_cosched(SERVICE, 2)
        if "no quota is permitted here" in ended.stderr:
            self.skipTest(ended.stderr.strip())
        self.assertEqual(ended.returncode, 0, ended.stderr)
        requests = self.rows("requests.csv")
        self.assertEqual(len(requests), 200)
        self.assertEqual(len({request["job_id"] for request in requests}), 2)
        for request in requests:
            times = [float(request[name]) for name in ("scheduled", "sent", "received", "started", "finished")]
            self.assertEqual(times, sorted(times), request)

    def test_without_enough_nodes_it_is_refused(self):
        self.jobs(1)
        for nodes, words in (0, "SLURM_JOB_ID is not set"), (1, "is 2, but this Slurm job has 1"):
            ended = self.run_cosched(JOBS, nodes)
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertIn(words, ended.stderr)
            self.assertFalse((self.folder / "out").exists())
        ended = self.run_cosched(JOBS, 2, "--launcher", "slurm")
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn("--launcher slurm", ended.stderr)

    def agents(self):
        """By the name of their node."""
        return {words[-1]: pid for pid, words in processes(self.folder, "node").items()}

    def tenants(self):
        return processes(self.folder, "tenant")


if __name__ == "__main__":
    main(NodesTest, why_not_here())

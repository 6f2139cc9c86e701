#!/usr/bin/env python3
"""Do fig_quota and fig_frameworks, of programs of others, draw and judge made-up records of their own experiment files?

As figures_test.py: a claim holds in a world in which it is true and does not in one in which it is false.
"""
import json
import tomllib
import unittest

import numpy as np

from figures_test import ROOT, TRIALS, FigureCase, points_of, write_csv

PAUSE_S = 0.2  # Until a program's first step.


class ProgramWorld:
    """How long a step of a program takes, in ms on a core; and what its clients do. cores: of the machine."""

    def __init__(self, cores=2):
        self.cores = cores
        self.step = dict.fromkeys(("cosched", "pytorch", "onnxruntime", "spin", "passive", "openmp", "onetbb"), 300.0)
        self.excess = 1.2  # Times as long with a thread more than the program knows cores, …
        self.unknown_excess = dict.fromkeys(self.step, 1.3)  # … and with more than it could know.
        self.effect_ms = {"cosched": 1.0, "pytorch": 60.0, "onnxruntime": 90.0, "openmp": 40.0, "onetbb": 20.0}
        self.client_cost = 1.0  # Of a step.
        self.gain = dict.fromkeys(self.step, 1.2)  # Rigid / malleable.
        self.noise = 0.002

    def step_ms(self, program, amount, threads, known):
        """known: that many cores the program saw when it started."""
        time = self.step[program] / min(amount, threads)
        if threads > np.ceil(amount):
            time *= 1 + (self.excess - 1) * (threads - known) if threads > known else self.unknown_excess[program]
        return time


def timetable_of(values):
    text = values.get("policy.scripted-shares.timetable", values.get("policy.scripted.timetable", "0:all"))
    return text, [part.split(":") for part in text.split()]


def write_cell(folder, world, values, elasticity, random):
    folder.mkdir(parents=True)
    program = next(key.split(".")[1] for key, value in values.items() if key.endswith(".weight") and value)
    _, entries = timetable_of(values)
    phases = [(float(at), world.cores if cores == "all" else min(float(cores), world.cores)) for at, cores in entries]
    rigid = next((value for key, value in values.items() if key.startswith("workload.") and key.endswith(".threads")), world.cores)
    down = values.get("policy.scripted-shares.threads") == "floor"
    known = phases[0][1] if values.get("machine.actuator") == "cpuset" else world.cores

    def threads_of(amount):
        if elasticity == "rigid":
            return rigid
        return max(1, int(amount)) if down else int(np.ceil(amount))

    now, throttled, steps, samples = PAUSE_S, 0.0, [], []
    for step in range(60):
        amount = [cores for at, cores in phases if at <= now][-1]
        threads = threads_of(amount)
        duration = world.step_ms(program, amount, threads, known) * (1 + world.noise * random.standard_normal())
        if elasticity == "malleable" and len(phases) == 1 and "machine.actuator" not in values:
            duration *= world.client_cost
        now += duration / 1e3
        throttled += 1e3 * duration * max(0, threads - amount) / 2
        steps.append((0, step, now, duration, threads, 1.0))
        samples.append((now, 0, amount, threads, threads, throttled))
    write_csv(folder / "steps.csv", ["job_id", "step", "time", "duration_ms", "threads", "loss"], steps)
    write_csv(folder / "samples.csv", ["time", "job_id", "granted", "compute_threads", "runnable_threads", "throttled_us"], samples)
    write_csv(folder / "grants.csv", ["time", "job_id", "kind"], [(0, 0, "submitted"), *((at, 0, "granted") for at, _ in phases)])
    write_csv(folder / "jobs.csv", ["job_id", "workload", "state", "starting_time"], [(0, program, "finished", 0.0)])
    resizes = []
    for (_, before), (at, after) in zip(phases, phases[1:]):
        if elasticity == "malleable":
            resizes.append((at, 0, "grant", 1, int(before), 1, int(after), 1e3 * world.effect_ms.get(program, 1)))
    write_csv(folder / "resizes.csv", ["time", "job_id", "cause", "inter_before", "intra_before", "inter_after", "intra_after", "taken_us"],
              resizes)
    (folder / "cell.json").write_text(json.dumps({"status": "done", "machine_cores": f"0-{world.cores - 1}", "marks": []}))
    return program


def write_programs(folder, figure, world):
    experiment = tomllib.loads((ROOT / "experiments" / "figures" / f"{figure}.toml").read_text())
    random = np.random.default_rng(11)
    listed = []
    for number, values in enumerate(points_of(experiment, world.cores)):
        point = folder / f"point-{number}"
        rows = []
        for policy in values["policies"]:
            for elasticity in values["elasticity"]:
                for trial in range(1, TRIALS + 1):
                    program = write_cell(point / policy / elasticity / str(trial), world, values, elasticity, random)
                    time = 10 * (world.gain[program] if elasticity == "rigid" else 1) * (1 + world.noise * random.standard_normal())
                    rows.append((policy, elasticity, trial, "done", 1, 0, 0, 0, 0, time, time))
        write_csv(point / "summary.csv", ["policy", "elasticity", "trial", "status", "jobs", "rejected", "cancelled", "lost", "marked",
                                          "mean_turnaround_s", "makespan_s"], rows)
        (point / "manifest.json").write_text(json.dumps({"experiment": {"name": figure}, "policies": []}))
        listed.append({"name": point.name, "values": {key: str(value) for key, value in values.items()}})
    (folder / "manifest.json").write_text(json.dumps(
        {"experiment": {"name": figure}, "points": listed, "host": {"cpus": f"0-{world.cores - 1}"}}))


class ProgramFigures(FigureCase):
    def write(self, figure, world):
        write_programs(self.run_folder, figure, world)

    def test_every_claim_is_measured(self):
        for figure in ("fig_quota", "fig_frameworks"):
            with self.subTest(figure):
                self.setUp()
                for row in self.judged(figure, ProgramWorld()).values():
                    self.assertIsNotNone(row["ours"], row)

    def test_slow_downs_that_have_their_cause_in_threads_alone(self):
        world = ProgramWorld()
        world.unknown_excess["spin"] = 40
        rows = self.judged("fig_quota", world)
        self.expect(rows, "holds", "stay_cpuset_spin", "stay_quota_spin", "eight_spin", "throttled_spin", "cut_passive", "same_spin")
        self.expect(rows, "does not hold", "stay_cpuset_passive", "stay_quota_pytorch")
        self.assertAlmostEqual(rows["eight_cosched"]["ours"], 2.4, delta=0.05)
        self.assertAlmostEqual(rows["ceil_passive"]["ours"], 1.5, delta=0.05)
        self.assertIn("OpenMP that spins", self.table)

    def test_more_threads_that_do_no_harm(self):
        world = ProgramWorld()
        world.excess, world.unknown_excess = 0.9, dict.fromkeys(world.step, 0.9)
        rows = self.judged("fig_quota", world)
        self.expect(rows, "does not hold", "eight_cosched", "cut_spin", "stay_cpuset_spin")

    def test_what_was_not_run_is_the_reason(self):
        rows = self.judged("fig_quota", ProgramWorld(cores=1))
        self.assertEqual(rows["stay_quota_spin"]["verdict"], "not supported here")
        self.assertIn("needs 2 cores", rows["stay_quota_spin"]["reason"])

    def test_the_engine_has_an_advantage_or_not(self):
        world = ProgramWorld()
        world.gain["cosched"] = 1.5
        rows = self.judged("fig_frameworks", world)
        self.expect(rows, "holds", "grow_openmp", "slower_pytorch", "cost_openmp", "turnaround_max-prop_pytorch", "advantage_openmp")
        self.assertAlmostEqual(rows["slower_onnxruntime"]["ours"], 90, delta=1)

    def test_clients_that_cost_and_gain_nothing(self):
        world = ProgramWorld()
        world.client_cost, world.gain = 1.05, dict.fromkeys(world.gain, 0.9)
        world.effect_ms["openmp"] = 0.5
        rows = self.judged("fig_frameworks", world)
        self.expect(rows, "does not hold", "grow_openmp", "slower_openmp", "cost_openmp", "cost_pytorch", "turnaround_equal-share_cosched")


if __name__ == "__main__":
    unittest.main()

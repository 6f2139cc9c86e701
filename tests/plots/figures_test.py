#!/usr/bin/env python3
"""Do the scripts of the published figures draw and judge made-up records of their own experiment files?

The records are those of a simple world (`World`), whose laws a test changes: a claim must hold in a world in which it is
true, must not in one in which it is false, and must say why where the records can't tell.
"""
import csv
import itertools
import json
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "plots"))
import claims  # noqa: E402  (the path must be set first)
import forked  # noqa: E402
import style  # noqa: E402

ALL_FIGURES = sorted(path.stem for path in (ROOT / "experiments" / "figures").glob("*.toml"))


def is_measured(figure):
    """Others: simulated_figures_test.py has those with backend = "simulated" or services, program_figures_test.py of others' programs,
    fidelity_and_scale_test.py the rest with [figure]."""
    file = tomllib.loads((ROOT / "experiments" / "figures" / f"{figure}.toml").read_text())
    serves = any(workload.get("mode") in ("serve", "pipeline") for workload in file.get("workload", []))
    return file.get("backend") != "simulated" and "figure" not in file and not serves


FIGURES = [figure for figure in ALL_FIGURES if is_measured(figure)]
TRIALS = claims.FEWEST  # For a verdict.
SMALLEST_PLOT = 10_000  # Bytes; an empty page is smaller.


def leaves(table, prefix=""):
    """(dotted key, value) of everything below a table that is no table."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def points_of(experiment, cores):
    """The values of each point, as experiments/config/sweep.h says."""
    axes = [[dict(leaves(v)) if isinstance(v, dict) else {key: v} for v in values] for key, values in leaves(experiment["sweep"])]
    for chosen in itertools.product(*axes):
        values = {key: value for part in chosen for key, value in part.items()}
        if all(value <= cores for key, value in values.items() if key.endswith(("machine.cores", "cores.max"))):
            yield values


class World:
    """How long a step takes, and who is resized. cores: of the machine."""

    def __init__(self, cores=2, noise=0.005):
        self.cores, self.noise = cores, noise
        self.after_resize = 1.0  # Step time of a job that was resized, relative to a static one.
        self.inter_gain, self.intra_gain = 0.2, 0.9  # Of a second thread.
        self.excess_cost = {"affinity": 0.02, "cpuset": 0.02, "quota": 0.045}  # Of each thread that has no core.
        self.marks = []

    def step_ms(self, inter, intra, cores, jobs=1, actuator="affinity"):
        gain = 1 + self.intra_gain * (min(intra, cores) - 1) + self.inter_gain * (min(inter, cores) - 1)
        excess = max(0, max(intra, inter) * jobs / cores - 1) * cores
        return 90 / gain * max(1, jobs / (cores / min(intra, cores))) * (1 + self.excess_cost[actuator] * excess)


def entry(text, cores):
    """(seconds, cores, inter, intra) of a timetable's entry."""
    seconds, count, *split = text.split(":")

    def number(word, everything):
        return everything if word == "all" else int(word)

    count = number(count, cores)
    inter, intra = (number(word, count) for word in split[0].split("x")) if split else (1, count)
    return float(seconds), count, inter, intra


def timeline(settings, elasticity, cores):
    """[(begin, cores, inter, intra)] of a job, as the policy and its elasticity make them."""
    entries = [entry(text, cores) for text in settings.get("timetable", "0:all").split()]
    client = settings.get("client", "on")
    if elasticity == "malleable" and client == "off":
        return [(begin, count, *entries[0][2:]) for begin, count, _, _ in entries]
    if elasticity == "malleable" and client == "halving" and len(entries) > 1:
        (_, _, inter, before), (shrunk, count, _, after) = entries
        steps = [(shrunk + i, count, inter, max(after, before >> (i + 1))) for i in range(before.bit_length() - 1)]
        return [entries[0], *steps]
    if elasticity == "malleable":
        return entries
    inter, intra = entries[0][2:]
    if elasticity == "rigid":
        inter, intra = settings.get("inter", 1), settings.get("threads", cores)
    return [(begin, count, inter, intra) for begin, count, _, _ in entries]


def write_csv(path, header, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([header, *rows])


def write_cell(folder, world, settings, elasticity, random):
    """One cell: every job runs all its steps; a step is as long as the threads at its begin make it."""
    folder.mkdir(parents=True)
    cores = settings.get("max", world.cores)
    phases = timeline(settings, elasticity, cores)
    steps, jobs, grants, samples = [], [], [(0, 0, "submitted", "", "", 0)], []
    for job in range(settings.get("jobs", 1)):
        now, throttled = 0.3, 0.0
        for step in range(settings["steps"]):
            number, phase = [(i, p) for i, p in enumerate(phases) if p[0] <= now][-1]
            duration = world.step_ms(phase[2], phase[3], phase[1], settings.get("jobs", 1), settings.get("actuator", "affinity"))
            duration *= 1 + world.noise * random.standard_normal()
            if number > 0 and elasticity == "malleable":
                duration *= world.after_resize
            now += duration / 1e3
            steps.append((job, step, now, duration, phase[2] * phase[3], 1.0))
            threads = max(phase[2], phase[3])
            throttled += max(0, threads - phase[1]) * duration * 1e3
            samples.append((now, job, phase[1], threads, threads, throttled))
        jobs.append((job, "net", "finished", 0.0, now, now))
    end = max(row[2] for row in steps)
    grants += [(begin, 0, "granted", f"0-{count - 1}", f"0-{count - 1}", intra)
               for begin, count, _, intra in phases[:None if elasticity == "malleable" else 1] if begin < end]
    if settings.get("client") == "halving":  # The host grants once; what follows is the client's affair.
        grants = grants[:3]
    write_csv(folder / "steps.csv", ["job_id", "step", "time", "duration_ms", "threads", "loss"], steps)
    write_csv(folder / "jobs.csv", ["job_id", "workload", "state", "starting_time", "finish_time", "execution_time"], jobs)
    write_csv(folder / "grants.csv", ["time", "job_id", "kind", "cores", "owned", "threads"], grants)
    header = ["time", "job_id", "granted", "compute_threads", "runnable_threads", "throttled_us"]
    write_csv(folder / "samples.csv", header, samples)
    (folder / "cell.json").write_text(json.dumps({"status": "done", "machine_cores": f"0-{cores - 1}", "marks": world.marks}))


def write_summary(run):
    """Of the columns those that say whether a cell may be compared."""
    rows = []
    for jobs in sorted(run.glob("*/*/*/jobs.csv")):
        with jobs.open() as file:
            states = [row["state"] for row in csv.DictReader(file)]
        policy, elasticity, trial = jobs.parts[-4:-1]
        lost = sum(state != "finished" for state in states)
        rows.append((policy, elasticity, trial, "done", len(states), lost, 0, lost, 0))
    write_csv(run / "summary.csv", ["policy", "elasticity", "trial", "status", "jobs", "rejected", "cancelled", "lost", "marked"], rows)


def write_sweep(folder, figure, world):
    experiment = tomllib.loads((ROOT / "experiments" / "figures" / f"{figure}.toml").read_text())
    random = np.random.default_rng(7)
    listed = []
    for number, values in enumerate(points_of(experiment, world.cores)):
        name = f"point-{number}"
        settings = {key.split(".")[-1]: value for key, value in [*leaves(experiment["workload"][0]), *values.items()]}
        policy = experiment["policies"][0]
        for elasticity in values.get("elasticity", experiment.get("elasticity")):
            for trial in range(1, TRIALS + 1):
                write_cell(folder / name / policy / elasticity / str(trial), world, settings, elasticity, random)
        write_summary(folder / name)
        manifest = {"experiment": {"name": figure, "workload": experiment["workload"]}, "policies": []}
        (folder / name / "manifest.json").write_text(json.dumps(manifest))
        listed.append({"name": name, "values": {key: str(value) for key, value in values.items()}})
    (folder / "manifest.json").write_text(json.dumps(
        {"experiment": {"name": figure}, "points": listed, "host": {"cpus": f"0-{world.cores - 1}"}}))


class FigureCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = Path(folder.name) / "run"
        patch = mock.patch.dict(style.plt.rcParams, {"savefig.dpi": 90})  # What costs time and decides nothing here.
        patch.start()
        self.addCleanup(patch.stop)

    def run_script(self, figure, *options):
        return forked.run(ROOT / "plots" / f"{figure}.py", self.run_folder, *options)

    def write(self, figure, world):
        write_sweep(self.run_folder, figure, world)

    def judged(self, figure, world):
        """Draws the figure in this world; the claims by name."""
        self.run_folder.mkdir()
        self.write(figure, world)
        result = self.run_script(figure)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stderr)
        self.table = result.stdout
        base = self.run_folder / "plots" / figure
        for suffix in (".png", ".pdf"):
            self.assertGreater(base.with_suffix(suffix).stat().st_size, SMALLEST_PLOT)
        rows = json.loads(base.with_suffix(".claims.json").read_text())["claims"]
        return {row["name"]: row for row in rows}

    def expect(self, rows, verdict, *names):
        for name in names:
            self.assertEqual(rows[name]["verdict"], verdict, rows[name])


class EveryFigure(FigureCase):
    def test_is_drawn_and_every_claim_has_a_verdict(self):
        for figure in FIGURES:
            with self.subTest(figure):
                self.setUp()
                rows = self.judged(figure, World())
                self.assertTrue(rows)
                for row in rows.values():
                    self.assertIn(row["verdict"], (claims.HOLDS, claims.FAILS, claims.NOT_HERE))
                    self.assertEqual(bool(row["reason"]), row["verdict"] != claims.HOLDS)
                    if row["ours"] is not None:
                        self.assertLessEqual(row["low"], row["high"])
                    self.assertIn(row["claim"].split()[0], self.table)

    def test_one_core_and_few_steps_are_reasons_not_errors(self):
        for figure in FIGURES:
            with self.subTest(figure):
                self.setUp()
                for row in self.judged(figure, World(cores=1)).values():
                    self.assertTrue(row["reason"] or row["verdict"] == claims.HOLDS)

    def test_no_run_is_one_message(self):
        for figure in FIGURES:
            result = self.run_script(figure)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("not a run", result.stderr)
            self.assertNotIn("Traceback", result.stderr)

    def test_files_share_their_stem_and_name(self):
        for figure in ALL_FIGURES:
            experiment = tomllib.loads((ROOT / "experiments" / "figures" / f"{figure}.toml").read_text())
            self.assertEqual(experiment["name"], figure)
            self.assertTrue((ROOT / "plots" / f"{figure}.py").exists())
        self.assertEqual(ALL_FIGURES, sorted(path.stem for path in (ROOT / "plots" / "expected").glob("fig_*.json")))
        self.assertEqual(ALL_FIGURES, sorted(path.stem for path in (ROOT / "plots").glob("fig_*.py")))

    def test_marked_cells_are_told(self):
        world = World()
        world.marks = ["other programs used more than 10 % of the cores meanwhile"]
        self.judged("fig_grow", world)
        self.assertIn("18 of 18 cells are marked", self.table)


class Elasticity(FigureCase):
    RATIOS = ("intra_shrunk", "intra_regrown", "inter_shrunk", "inter_regrown")

    def test_resized_as_fast_as_static_holds(self):
        rows = self.judged("fig_elasticity", World())
        self.expect(rows, claims.HOLDS, *self.RATIOS)
        self.expect(rows, claims.NOT_HERE, "intra_slowdown", "inter_slowdown")
        self.assertIn("needs 16 cores", rows["intra_slowdown"]["reason"])
        self.assertAlmostEqual(rows["intra_slowdown"]["ours"], 1.9, delta=0.05)

    def test_slower_after_a_resize_does_not(self):
        world = World()
        world.after_resize = 1.08
        self.expect(self.judged("fig_elasticity", world), claims.FAILS, *self.RATIOS)

    def test_noise_is_undecided(self):
        rows = self.judged("fig_elasticity", World(noise=0.2))
        self.expect(rows, claims.NOT_HERE, "intra_regrown")
        self.assertIn("crosses", rows["intra_regrown"]["reason"])


class InterIntra(FigureCase):
    def test_intra_matters_more(self):
        self.expect(self.judged("fig_inter_intra", World()), claims.HOLDS, "resnet56", "lenet5")

    def test_and_where_it_does_not(self):
        world = World()
        world.inter_gain = 1.2
        self.expect(self.judged("fig_inter_intra", world), claims.FAILS, "resnet56", "lenet5")


class Contention(FigureCase):
    def test_best_falls(self):
        self.expect(self.judged("fig_contention", World()), claims.HOLDS, "best_falls", "crowded_penalty")

    def test_threads_that_help_in_a_crowd(self):
        world = World()
        world.excess_cost = {"affinity": -0.01}
        self.expect(self.judged("fig_contention", world), claims.FAILS, "crowded_penalty")


    def test_a_tenant_that_died_has_no_time(self):
        """It did half of its steps: taken for a whole one, it would be twice as fast."""
        self.run_folder.mkdir()
        write_sweep(self.run_folder, "fig_contention", World())
        point = json.loads((self.run_folder / "manifest.json").read_text())["points"][-1]["name"]  # The most crowded.
        jobs = next((self.run_folder / point).glob("*/*/1/jobs.csv"))
        jobs.write_text(jobs.read_text().replace("finished", "failed", 1))
        write_summary(self.run_folder / point)
        result = self.run_script("fig_contention")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, rf"LEFT OUT: {point}/\S+/1 lost 1 of ")
        written = json.loads((self.run_folder / "plots" / "fig_contention.claims.json").read_text())
        [lost] = written["cells"]["lost"]
        self.assertRegex(lost, rf"^{point}/\S+/1 lost 1 of \d+ jobs$")
        rows = written["claims"]
        self.assertEqual({row["trials"] for row in rows if row["trials"]}, {TRIALS - 1})

    def test_where_every_trial_lost_jobs_there_is_no_verdict(self):
        self.run_folder.mkdir()
        write_sweep(self.run_folder, "fig_contention", World())
        for jobs in self.run_folder.glob("*/*/*/*/jobs.csv"):
            jobs.write_text(jobs.read_text().replace("finished", "failed", 1))
        for point in self.run_folder.glob("point-*"):
            write_summary(point)
        result = self.run_script("fig_contention")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no cell of this run is done without losing jobs", result.stderr)
        self.assertNotIn("Traceback", result.stderr)


class Grow(FigureCase):
    def test_nothing_is_lost(self):
        rows = self.judged("fig_grow", World())
        self.expect(rows, claims.HOLDS, "shorter", "ideal")
        self.assertLess(rows["shorter"]["ours"], -20)

    def test_a_tenant_that_stays_slow(self):
        world = World()
        world.after_resize = 1.3
        self.expect(self.judged("fig_grow", world), claims.FAILS, "ideal")


class Oversubscription(FigureCase):
    def test_the_minimum_and_the_penalty(self):
        rows = self.judged("fig_oversubscription", World())
        self.expect(rows, claims.HOLDS, "best_1_affinity", "best_2_affinity", "excess_1_affinity", "best_1_quota", "slowdown_1_quota", "smaller_1")
        self.expect(rows, claims.NOT_HERE, "slowdown_2_quota", "smaller_2")
        self.assertIn("needs 3 cores", rows["smaller_2"]["reason"])

    def test_a_quota_that_may_not_be_set_is_the_reason(self):
        self.run_folder.mkdir()
        write_sweep(self.run_folder, "fig_oversubscription", World())
        path = self.run_folder / "manifest.json"
        manifest = json.loads(path.read_text())
        kept = [point for point in manifest["points"] if point["values"]["machine.actuator"] == "affinity"]
        path.write_text(json.dumps({**manifest, "points": kept, "left_out": ["actuator=quota,max=1: quota is not permitted: EPERM"]}))
        self.assertEqual(self.run_script("fig_oversubscription").returncode, 0)
        rows = json.loads((self.run_folder / "plots" / "fig_oversubscription.claims.json").read_text())["claims"]
        row = next(row for row in rows if row["name"] == "slowdown_1_quota")
        self.assertEqual((row["verdict"], row["reason"]), (claims.NOT_HERE, "quota is not permitted: EPERM"))

    def test_threads_beyond_the_cores_that_help(self):
        world = World()
        world.excess_cost = dict.fromkeys(world.excess_cost, -0.005)
        self.expect(self.judged("fig_oversubscription", world), claims.FAILS, "best_1_affinity", "excess_1_affinity")


class ContainerShrink(FigureCase):
    def test_the_client_decides(self):
        rows = self.judged("fig_container_shrink", World())
        self.expect(rows, claims.HOLDS, *(name for name in rows if name != "late_cpuset"))
        self.assertIn("the first halving is at once", rows["late_cpuset"]["reason"])
        self.assertAlmostEqual(rows["runnable_quota"]["ours"], 2.0, delta=0.01)

    def test_halving_takes_a_second_for_each_but_the_first(self):
        world = World(cores=4)
        world.intra_gain = 0.1  # Slow enough to run on after the last halving.
        rows = self.judged("fig_container_shrink", world)
        self.expect(rows, claims.HOLDS, "late_cpuset")
        self.assertAlmostEqual(rows["late_cpuset"]["ours"], 1.0, delta=0.15)

    def test_a_client_that_is_slower_than_static(self):
        world = World()
        world.after_resize = 1.2
        self.expect(self.judged("fig_container_shrink", world), claims.FAILS, "on_cpuset", "on_quota")

    def test_without_containers_there_is_nothing_to_draw(self):
        self.run_folder.mkdir()
        (self.run_folder / "manifest.json").write_text(json.dumps({"points": [], "host": {"cpus": "0-1"}}))
        self.assertIn("no cell of this run is done", self.run_script("fig_container_shrink").stderr)


if __name__ == "__main__":
    unittest.main()

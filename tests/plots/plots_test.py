#!/usr/bin/env python3
"""Does every plot script draw stored records? plots_test.py FIXTURE [unittest args]; FIXTURE is made by write_fixture."""
import gzip
import json
import math
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import pandas as pd

PLOTS = Path(__file__).resolve().parent.parent.parent / "plots"
sys.path.insert(0, str(PLOTS))
import cell_doubts  # noqa: E402  (the path must be set first)
import cores_over_time  # noqa: E402
import forked  # noqa: E402
import gains  # noqa: E402
import gantt  # noqa: E402
import load  # noqa: E402
import policy_comparison  # noqa: E402
import step_time  # noqa: E402

SCRIPTS = ["policy_comparison", "gantt", "cores_over_time", "step_time"]
FIXTURE = None  # Given on the command line.
SMALLEST_PLOT = 10_000  # Bytes; an empty page is smaller.
SMALLEST_DATA = 500
WRITTEN = (".png", ".pdf", ".csv")


def run_script(name, *arguments):
    return forked.run(PLOTS / f"{name}.py", *arguments)


def load_step_by_step(cell):
    """What cores_over_time.load_steps gives for a cell whose every job is shown: (time, threads, cores) where they change, and last."""
    samples, jobs = cell.table("samples"), cell.table("jobs")
    end_of = dict(zip(jobs["job_id"], jobs["finish_time"]))
    changes = [(row.time, row.job_id, row.runnable_threads, row.granted_cores) for row in samples.itertuples()
               if row.time < end_of[row.job_id]]
    for job, rows in samples.groupby("job_id"):
        begin = jobs.loc[jobs["job_id"] == job, "starting_time"].iloc[0]
        for start in sorted(set(jobs["starting_time"].dropna())):
            later = rows[rows["time"] >= start]
            if begin <= start < end_of[job] and len(later) > 0 and start < later["time"].iloc[0] <= end_of[job]:
                changes.append((start, job, later["runnable_threads"].iloc[0], later["granted_cores"].iloc[0]))
    changes += [(end, job, 0, "") for job, end in end_of.items()]
    threads, cores, series = {}, {}, []
    for time, job, runnable, granted in sorted(changes, key=lambda change: change[0]):
        threads[job], cores[job] = runnable, load.parse_cpus(granted)
        series.append((time, sum(threads.values()), len(set().union(*cores.values()))))
    return [step for step, before in zip(series, [None, *series]) if before is None or step[1:] != before[1:] or step is series[-1]]


class PlotsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.run = Path(self.folder.name) / "run"
        shutil.copytree(FIXTURE, self.run)

    def expect_plots(self, result, files):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        self.assertEqual(result.stdout.split(), [str(file) for file in files])
        for file in files:
            self.assertGreater(file.stat().st_size, SMALLEST_DATA if file.suffix == ".csv" else SMALLEST_PLOT, file)

    def test_each_script_alone(self):
        for name in SCRIPTS:
            with self.subTest(name):
                out = Path(self.folder.name) / f"mine-{name}"
                result = run_script(name, self.run, "--out", out)
                self.expect_plots(result, [out.with_suffix(suffix) for suffix in WRITTEN])

    def test_all_at_once(self):
        result = run_script("plot_all", self.run)
        self.expect_plots(result, [self.run / "plots" / f"{name}{suffix}" for name in SCRIPTS for suffix in WRITTEN])

    def keep_only(self, policy, elasticity):
        for folder in [path.parent for path in self.run.glob("*/*/*/cell.json")]:
            if not str(folder.relative_to(self.run)).startswith(f"{policy}/{elasticity}/"):
                shutil.rmtree(folder)

    def test_one_policy_without_malleable_tenants(self):
        self.keep_only("strict", "rigid")
        self.assertEqual(run_script("plot_all", self.run).returncode, 0)

    def test_failed_cells_are_left_out(self):
        path = self.run / "strict" / "rigid" / "1" / "cell.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "status": "failed"}))
        (path.parent / "grants.csv").write_text("not to be read\n")
        self.assertEqual(run_script("plot_all", self.run).returncode, 0)

    def test_a_broken_plot_costs_no_other(self):
        for path in self.run.glob("*/*/*/steps.csv"):
            path.unlink()
        result = run_script("plot_all", self.run)
        self.assertEqual(result.returncode, 1)
        self.assertIn("not drawn: step_time", result.stderr)
        self.assertTrue((self.run / "plots" / "gantt.png").exists())

    def test_cores_and_threads_are_those_of_each_change_by_itself(self):
        compared = 0
        for cell in load.Run(self.run).cells:
            times, threads, cores = cores_over_time.load_steps(cell)
            expected = load_step_by_step(cell)
            self.assertEqual(list(zip(times, threads, cores)), expected, cell.folder)
            compared += len(expected)
        self.assertGreater(compared, 0)

    def test_what_static_jobs_needed_is_told_by_workload_and_threads(self):
        run = load.Run(self.run)
        expected = {}
        for cell in run.cells:
            if run.oversubscribes(cell.policy):
                continue
            for job in cell.table("jobs").itertuples():
                if job.resizes > 0 or job.state != "finished" or job.threads != len(load.parse_cpus(job.allocated_resources)):
                    continue
                for step in cell.steady_steps(job.job_id).itertuples():
                    expected.setdefault((job.workload, step.threads), []).append(step.duration_ms)
        found = step_time.static_steps(run)
        self.assertEqual({key: sorted(durations) for key, durations in found.items()},
                         {key: sorted(durations) for key, durations in expected.items()})
        self.assertGreater(len(expected), 0)

    def test_a_resize_comes_before_the_first_step_that_was_done_with_it(self):
        cell = next(cell for cell in load.Run(self.run).cells if cell.elasticity == "malleable" and (cell.table("jobs")["resizes"] > 0).any())
        jobs = cell.table("jobs")
        job = jobs.loc[jobs["resizes"].idxmax(), "job_id"]
        before = step_time.resize_steps(cell, job)
        self.assertTrue(before)
        grants, steps = pd.read_csv(cell.folder / "grants.csv"), pd.read_csv(cell.folder / "steps.csv")
        step, threads = before[0]
        granted = grants.loc[(grants["job_id"] == job) & (grants["kind"] == "granted") & (grants["threads"] == threads), "time"].iloc[0]
        during = (steps["job_id"] == job) & (steps["time"] >= granted)
        for late in (0, 1):  # The step that was under way has the new threads already, or not yet.
            steps.loc[during, "threads"] = threads
            first = steps[during].sort_values("time").index[0]
            steps.loc[first, "threads"] = threads + late
            steps.to_csv(cell.folder / "steps.csv", index=False)
            load.read_table.cache_clear()
            self.assertEqual(step_time.resize_steps(cell, job)[0], (steps.loc[first, "step"] + late, threads))

    def end_no_step(self, jobs_of):
        """As services do."""
        for path in self.run.glob("*/*/*/jobs.csv"):
            rows = pd.read_csv(path)
            idle = rows["job_id"].isin(jobs_of(rows))
            rows.loc[idle, "steps"] = 0
            rows.to_csv(path, index=False)
            steps = pd.read_csv(path.parent / "steps.csv")
            steps[~steps["job_id"].isin(rows.loc[idle, "job_id"])].to_csv(path.parent / "steps.csv", index=False)

    def test_jobs_without_steps_have_no_step_times(self):
        for jobs_of in (lambda rows: [rows.loc[rows["resizes"].idxmax(), "job_id"]], lambda rows: rows["job_id"]):
            self.end_no_step(jobs_of)
            result = run_script("plot_all", self.run)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_records_that_were_left_out_cost_their_plots_only(self):
        path = self.run / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest.setdefault("experiment", {})["records"] = {"steps": False, "samples": False}
        path.write_text(json.dumps(manifest))
        for name in ("steps", "samples"):
            for file in self.run.glob(f"*/*/*/{name}.csv"):
                file.unlink()
        result = run_script("plot_all", self.run)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("cores_over_time: not drawn, the experiment records no samples", result.stdout)
        self.assertIn("step_time: not drawn, the experiment records no steps", result.stdout)
        self.assertTrue((self.run / "plots" / "gantt.png").exists())

    def test_many_jobs_are_shown_by_the_first_of_them(self):
        with mock.patch.object(load, "MOST_JOBS", 3):
            run = load.Run(self.run)
            cell = run.cells[0]
            jobs = cell.table("jobs").sort_values(["submission_time", "job_id"])
            self.assertGreater(len(jobs), 3)
            shown, until = cell.opening()
            self.assertEqual(shown, set(jobs["job_id"].iloc[:3]))
            self.assertEqual(until, jobs["submission_time"].iloc[3])
            self.assertTrue(all(job in shown and begin <= until for job, begin, _, _ in gantt.spans(cell)))
            lasting = set(jobs.loc[(jobs["starting_time"] < until) & (jobs["finish_time"] > until), "job_id"]) & shown
            self.assertTrue(lasting)
            self.assertLessEqual(lasting, {job for job, _, end, _ in gantt.spans(cell) if end == until})
            times, counts = cores_over_time.core_steps(cell)
            self.assertLessEqual(times.max(), until)
            self.assertLessEqual(set(counts), shown)
            self.assertIn("the first 3 of", gantt.draw(run)._suptitle.get_text())

    def edit(self, path, change):
        table = pd.read_csv(self.run / path)
        change(table)
        table.to_csv(self.run / path, index=False)

    def lose_a_job(self):
        """static-partition rejects one of its six jobs in the first of two trials."""
        def reject(jobs):
            jobs.loc[0, "state"] = "rejected"

        def count(summary):
            first = (summary[["policy", "elasticity", "trial"]] == ("static-partition", "rigid", 1)).all(axis=1)
            summary.loc[first, ["finished", "rejected", "lost"]] = (5, 1, 1)
        self.edit("static-partition/rigid/1/jobs.csv", reject)
        self.edit("summary.csv", count)

    @staticmethod
    def crossed_out(figure):
        return [sum(bar.get_hatch() is not None for bar in axes.patches) for axes in figure.axes]

    def test_services_alone_are_compared_by_what_they_answered(self):
        def no_jobs(summary):
            summary["throughput_jobs_per_hour"] = 0.0
        self.edit("summary.csv", no_jobs)
        cells = pd.read_csv(self.run / "summary.csv")[["policy", "elasticity", "trial"]]
        services = [cells.assign(service=name, requests=10, served=served, mean_latency_ms=latency, p99_latency_ms=2 * latency,
                                 slo_attainment=math.nan, violated=violated, windows=4 * violated)
                    for name, served, latency, violated in (("one", 8, 5.0, 1), ("two", 2, 10.0, math.nan))]
        pd.concat(services).to_csv(self.run / "services.csv", index=False)
        figure = policy_comparison.draw(load.Run(self.run))
        bars = {axes.get_title(loc="left").split(" [")[0]: axes.patches[0].get_height() for axes in figure.axes if axes.patches}
        self.assertEqual(list(bars), ["mean response", "99th percentile of responses", "windows above the SLA", "CPU time granted",
                                      "CPU time used"])
        self.assertAlmostEqual(bars["mean response"], 6.0)  # Of 8 and 2 that were served.
        self.assertAlmostEqual(bars["99th percentile of responses"], 20.0)
        self.assertAlmostEqual(bars["windows above the SLA"], 100 * 1 / 4)  # The other one has no objective.

    def test_bars_of_cells_that_lost_jobs_are_crossed_out(self):
        whole = policy_comparison.draw(load.Run(FIXTURE))
        self.assertEqual(self.crossed_out(whole), [0] * 6)
        self.assertNotIn("lost", whole._suptitle.get_text())
        self.lose_a_job()
        figure = policy_comparison.draw(load.Run(self.run))
        self.assertEqual(self.crossed_out(figure), [1] * 6)
        for axes in figure.axes:
            self.assertEqual([text.get_text() for text in axes.texts], ["lost 1 of 12 jobs"])
        self.assertIn("1 of 24 cells lost jobs (1 rejected)", figure._suptitle.get_text())
        self.assertIn("jobs were lost: not comparable", [text.get_text() for text in figure.legends[0].get_texts()])

    def test_lost_jobs_are_named_where_single_cells_are_drawn(self):
        self.lose_a_job()
        run = load.Run(self.run)
        for script in (gantt, cores_over_time):
            titles = [axes.get_title(loc="left") for axes in script.draw(run).axes]
            self.assertIn("static-partition, rigid: lost 1 of 6 jobs", titles)
            self.assertIn("static-partition, malleable", titles)

    def test_trials_that_lost_jobs_are_in_no_claim(self):
        self.lose_a_job()
        sweep = load.Sweep(self.run)
        run = sweep.points[0].run
        self.assertEqual(set(gains.gains(run, "strict", gains.TURNAROUND, over="rigid")), {1, 2})
        self.assertEqual(set(gains.gains(run, "static-partition", gains.TURNAROUND, over="rigid")), {2})
        self.assertNotIn(("static-partition", "rigid", 1), [(cell.policy, cell.elasticity, cell.trial) for cell in sweep.cells()])
        self.assertEqual(sweep.lost, ["static-partition/rigid/1 lost 1 of 6 jobs"])
        self.assertIn("  * LEFT OUT: static-partition/rigid/1 lost 1 of 6 jobs", cell_doubts.lines(cell_doubts.found(sweep)))

    def test_marks_are_told_as_they_are_and_failed_cells_with_their_reason(self):
        def change(cell, **members):
            file = self.run / cell / "cell.json"
            file.write_text(json.dumps({**json.loads(file.read_text()), **members}))
        change("strict/rigid/1", marks=["a request was sent 10 ms late", "rests on extrapolation: more cores than the 4 measured"])
        change("strict/rigid/2", marks=["a request was sent 9.5 ms late"])
        change("strict/malleable/1", status="failed", reason="the policy broke its contract")
        found = cell_doubts.found(load.Sweep(self.run))
        self.assertEqual(found["marks"], [{"mark": "a request was sent 9.5 to 10 ms late", "cells": 2},
                                          {"mark": "rests on extrapolation: more cores than the 4 measured", "cells": 1}])
        self.assertEqual((found["marked"], found["failed"]), (2, ["strict/malleable/1: the policy broke its contract"]))
        self.assertEqual(cell_doubts.lines(found), [
            f"  * 2 of {found['all']} cells are marked:", "    - 2: a request was sent 9.5 to 10 ms late",
            "    - 1: rests on extrapolation: more cores than the 4 measured",
            "  * FAILED: strict/malleable/1: the policy broke its contract"])

    def test_marked_trials_have_dots_of_their_own(self):
        cell = self.run / "strict" / "rigid" / "2" / "cell.json"
        cell.write_text(json.dumps({**json.loads(cell.read_text()), "marks": ["late"]}))

        def mark(summary):
            summary.loc[(summary[["policy", "elasticity", "trial"]] == ("strict", "rigid", 2)).all(axis=1), "marked"] = 1
        self.edit("summary.csv", mark)
        figure = policy_comparison.draw(load.Run(self.run))
        for axes in figure.axes:
            self.assertEqual(sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == "X"), 1)
        self.assertIn("1 of 24 cells is marked", figure._suptitle.get_text())
        self.assertIn("marked trial", [text.get_text() for text in figure.legends[0].get_texts()])

    def test_rows_of_a_gantt_chart_name_their_workloads(self):
        jobs = load.Run(self.run).cells[0].table("jobs")
        labels = [label.get_text() for label in gantt.draw(load.Run(self.run)).axes[0].get_yticklabels()]
        self.assertEqual(labels, [f"{name} {job}" for job, name in sorted(zip(jobs["job_id"], jobs["workload"]))])

    def test_summary_of_an_older_version_is_one_message(self):
        self.edit("summary.csv", lambda summary: summary.drop(columns="lost", inplace=True))
        result = run_script("policy_comparison", self.run)
        self.assertEqual(result.returncode, 1)
        self.assertIn("has no column lost: an older cosched wrote it", result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def test_compressed_records_are_read_like_others(self):
        cell = load.Run(self.run).cells[0]
        plain = cell.table("grants")
        path = cell.folder / "grants.csv"
        path.with_name("grants.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        load.read_table.cache_clear()
        self.assertTrue(cell.table("grants").equals(plain))

    def test_no_run_is_one_message(self):
        for name in [*SCRIPTS, "plot_all"]:
            with self.subTest(name):
                result = run_script(name, Path(self.folder.name) / "nothing")
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("not a run", result.stderr)
                self.assertNotIn("Traceback", result.stderr)


if __name__ == "__main__":
    FIXTURE = Path(sys.argv.pop(1))
    unittest.main()

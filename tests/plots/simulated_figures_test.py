#!/usr/bin/env python3
"""Are the simulated figures drawn and judged, from real records of `cosched run --quick`, and would false ones be noticed?

Figures of services that are measured are simulated here, too: figures_test.py makes up records of training jobs only.

simulated_figures_test.py COSCHED [unittest args]. Simulated runs are the same every time, so verdicts are expected here.
"""
import csv
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

import forked
from figures_test import FigureCase, style

ROOT = Path(__file__).resolve().parent.parent.parent
CHECKER = ROOT / "tests" / "check_results.py"
FIGURES_FOLDER = ROOT / "experiments" / "figures"


def is_prepared(name, file):
    """Whether what the figure reads could be made; a figure whose other points can do without is told so by cosched."""
    script = file.get("figure", {}).get("prepare")
    made = script is None or subprocess.run(["sh", FIGURES_FOLDER / script], capture_output=True, check=False).returncode == 0
    if not made:
        print(f"{name}: left out: {script} can't make what it reads", file=sys.stderr)
    return made


EXPERIMENTS = {path.stem: tomllib.loads(path.read_text()) for path in FIGURES_FOLDER.glob("*.toml")}
FIGURES = sorted(name for name, file in EXPERIMENTS.items() if file.get("backend") == "simulated")
MEASURED = sorted(name for name, file in EXPERIMENTS.items() if "backend" not in file and "with" not in file.get("figure", {}) and
                  is_prepared(name, file) and any(workload.get("mode") in ("serve", "pipeline") for workload in file["workload"]))
SIMULATE = ("--backend", "simulated", "--set", f"machine.profile='{ROOT}/experiments/profiles/example.json'")
SMALLEST_PLOT = 10_000  # Bytes; an empty page is smaller.
COSCHED = None  # Given on the command line.


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class SimulatedFigures(FigureCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.runs, cls.drawn = {}, {}
        for figure in FIGURES + MEASURED:
            result = run(COSCHED, "run", ROOT / "experiments" / "figures" / f"{figure}.toml", "--quick", "--no-plots", "--out",
                         folder.name, *(SIMULATE if figure in MEASURED else ()))
            assert result.returncode == 0, result.stderr
            [cls.runs[figure]] = (Path(folder.name) / figure).iterdir()

    def setUp(self):
        super().setUp()
        self.folder = self.run_folder.parent

    def script_said(self, figure, records):
        """What it printed, and its claims by name."""
        self.run_folder = records
        base = self.folder / figure
        result = self.run_script(figure, "--out", base)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        rows = json.loads(base.with_suffix(".claims.json").read_text())["claims"]
        return result.stdout, {row["name"]: row for row in rows}

    def judged(self, figure):
        """The claims of the figure's own records, which are drawn once for all tests."""
        if figure not in self.drawn:
            self.drawn[figure] = self.script_said(figure, self.runs[figure])
            for suffix in (".png", ".pdf"):
                self.assertGreater((self.folder / figure).with_suffix(suffix).stat().st_size, SMALLEST_PLOT)
        self.printed, rows = self.drawn[figure]
        return rows

    def judged_tampered(self, figure, change, name="summary.csv"):
        """The claims of tampered records. Nothing is drawn: the same script has drawn the others."""
        with mock.patch.object(style, "save", lambda plot, _: style.plt.close(plot)):
            return self.script_said(figure, self.tampered(figure, change, name))[1]

    def tampered(self, figure, change, name="summary.csv"):
        """The figure's records with change(row) made to every row of every summary, or table of that name."""
        records = self.folder / "records"
        shutil.copytree(self.runs[figure], records)
        for path in records.rglob(name):
            with path.open(newline="") as file:
                reader = csv.DictReader(file)
                rows, columns = list(reader), reader.fieldnames
            for row in rows:
                change(row)
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, columns)
                writer.writeheader()
                writer.writerows(rows)
        return records

    def expect(self, rows, verdict, *names):
        for name in names:
            self.assertEqual(rows[name]["verdict"], verdict, rows[name])

    def test_there_are_some(self):
        self.assertIn("fig_policy_grid", FIGURES)
        self.assertIn("fig_roma_gains", MEASURED)

    def test_records_hold(self):
        for figure in FIGURES + MEASURED:
            result = forked.run(CHECKER, self.runs[figure])
            self.assertEqual(result.returncode, 0, result.stdout[-2000:])

    def test_every_claim_is_judged_and_printed(self):
        for figure in FIGURES + MEASURED:
            rows = self.judged(figure)
            self.assertTrue(rows)
            expected = json.loads((ROOT / "plots" / "expected" / f"{figure}.json").read_text())
            claims = {claim["name"]: claim for claim in expected["claims"]}
            for row in rows.values():
                self.assertIsNotNone(row["ours"], row)
                if figure in FIGURES and row["verdict"] == "does not hold":  # Our own world: its cause is known, or told not to be.
                    self.assertIn("because", claims[row["name"]], row)
                self.assertIn(row["claim"].split(",")[0].split(":")[0][:30], self.printed)

    def test_grid_partial_grants_gain_and_whole_ones_do_not(self):
        rows = self.judged("fig_policy_grid")
        self.expect(rows, "holds", "partial_throughput", "partial_turnaround", "strict")
        self.expect(rows, "does not hold", "whole_throughput", "whole_turnaround")
        self.assertIn("there is no effect: the whole interval is 0", rows["whole_turnaround"]["reason"])
        self.assertIn("always-attend, throughput:", self.printed)

    def test_grid_in_which_malleability_loses(self):
        def lose(row):
            if row["elasticity"] == "malleable":
                row["throughput_jobs_per_hour"] = str(float(row["throughput_jobs_per_hour"]) * 0.5)
        rows = self.judged_tampered("fig_policy_grid", lose)
        self.expect(rows, "does not hold", "partial_throughput", "whole_throughput", "strict", "max_prop")

    def test_control_that_gains_throughput(self):
        def slower(row):
            if row["policy"] == "no-control":
                row["throughput_jobs_per_hour"] = str(float(row["throughput_jobs_per_hour"]) * 0.5)
        rows = self.judged_tampered("fig_control", slower)
        self.expect(rows, "does not hold", "throughput_16", "throughput_128")

    def test_partial_grants_without_effect(self):
        def same(row):
            row["throughput_jobs_per_hour"], row["mean_turnaround_s"] = "100", "100"
        rows = self.judged_tampered("fig_partial_grants", same)
        self.assertAlmostEqual(rows["slope_throughput"]["ours"], 0, places=6)
        self.assertAlmostEqual(rows["all_turnaround"]["ours"], 0, places=6)

    def test_controllers_that_others_beat(self):
        names = "true_1", "true_5", "slow_cores"
        self.expect(self.judged("fig_roma_controllers"), "holds", *names)
        self.assertIn("every setting is beaten by another system: ", self.printed)

        def dear(row):
            if row["policy"] == "curve-shares":
                row["granted_core_s"] = str(float(row["granted_core_s"]) * 4)
        self.expect(self.judged_tampered("fig_roma_controllers", dear), "does not hold", *names)

    def test_a_controller_at_the_end_of_the_front_can_be_beaten_too(self):
        """So few cores that a setting with as few violates even more windows, and others a little later far fewer."""
        def bad(row):
            if row["policy"] == "curve-wrong_fast":
                row["violated"] = str(int(0.6 * int(row["windows"])))
        self.expect(self.judged_tampered("fig_roma_controllers", bad, "services.csv"), "does not hold", "fast_1", "fast_5")

    def test_partitions_that_never_exceed_the_objective(self):
        names = "published", "scaled", "careful", "curves"
        self.expect(self.judged("fig_roma_mixed"), "holds", *names)

        def well(row):
            if row["policy"] == "owned":
                row["violated"] = "0"
        self.expect(self.judged_tampered("fig_roma_mixed", well, "services.csv"), "does not hold", *names)

    def test_machines_that_merge_bound_what_open_requests_gain(self):
        rows = self.judged("fig_pipeline_scaleout")
        self.assertGreater(rows["gain_3"]["ours"], 3.4)
        self.assertLess(rows["gain_2"]["ours"], 3.3)
        self.assertLess(rows["little"]["ours"], 5)
        self.assertLess(rows["sizes"]["ours"], rows["gain_3"]["ours"])
        self.assertGreater(rows["sizes_tail"]["ours"], 5)

        def early(row):
            row["started"] = row["scheduled"]
        rows = self.judged_tampered("fig_pipeline_scaleout", early, "requests.csv")
        self.assertGreater(rows["little"]["ours"], 50)
        self.assertLess(rows["sizes_tail"]["ours"], 5)

    def test_stages_that_wait_gain_by_open_requests_and_auto_finds_them(self):
        rows = self.judged("fig_pipeline_joint")
        self.assertAlmostEqual(rows["waiting_gain"]["ours"], 4, delta=0.05)
        self.assertLess(rows["waiting_auto"]["ours"], 3)

        def one_after_the_other(row):
            row["finished"] = str(float(row["request_id"]) * 0.04)
        rows = self.judged_tampered("fig_pipeline_joint", one_after_the_other, "requests.csv")
        self.assertAlmostEqual(rows["waiting_gain"]["ours"], 1, delta=0.05)

    def test_a_call_of_a_pipeline_has_no_more_threads_than_there_are_cores(self):
        def crowded(row):
            row["intra_after"] = "9"
        result = forked.run(CHECKER, self.tampered("fig_pipeline_elastic", crowded, "resizes.csv"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("9 threads in a call on ", result.stdout)

    def test_a_pipelines_speed_follows_its_cores_or_not(self):
        rows = self.judged("fig_pipeline_elastic")
        for name in ("shrunk", "regrown", "resumed"):
            self.assertAlmostEqual(rows[name]["ours"], 100, delta=1)

        def steady(row):
            row["taken"] = str(round(float(row["time"]) * 10))
        rows = self.judged_tampered("fig_pipeline_elastic", steady, "stages.csv")
        self.assertAlmostEqual(rows["shrunk"]["ours"], 200, delta=5)

    def test_a_request_of_a_pipeline_that_failed_is_lost(self):
        def failed(row):
            if row["request_id"] == "5":
                row["state"] = "failed"
        rows = self.judged_tampered("fig_pipeline_elastic", failed, "requests.csv")
        self.assertEqual(rows["lost"]["verdict"], "does not hold")


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()

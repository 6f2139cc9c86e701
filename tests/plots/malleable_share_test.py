#!/usr/bin/env python3
"""Is fig_malleable_share judged by its records: right where malleable jobs gain, wrong where they lose, and silent where they can't tell?

malleable_share_test.py COSCHED [unittest args]. The records are those of its own quick run, simulated in seconds, and changed.
"""
import csv
import json
import subprocess
import sys
import unittest

import forked
import tampering
from tampering import ROOT, check

COSCHED = None  # Given on the command line.
FIGURE = "fig_malleable_share"
GAINS = ("turnaround", "wait", "turnaround_20", "wait_20")


class MalleableShareFigure(tampering.TamperTest):
    @classmethod
    def setUpClass(cls):
        cls.run_file(COSCHED, ROOT / "experiments" / "figures" / f"{FIGURE}.toml", "--quick")

    def judged(self):
        base = self.run.parent / "plot"
        result = forked.run(ROOT / "plots" / f"{FIGURE}.py", self.run, "--out", base)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.printed = result.stdout
        return {row["name"]: row for row in json.loads(base.with_suffix(".claims.json").read_text())["claims"]}

    def change_summaries(self, change):
        """change(row) of every cell of a malleable strategy."""
        for path in self.run.rglob("summary.csv"):
            with path.open(newline="") as file:
                reader = csv.DictReader(file)
                rows, columns = list(reader), reader.fieldnames
            for row in rows:
                if row["policy"] != "easy":
                    change(row)
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, columns)
                writer.writeheader()
                writer.writerows(rows)

    def expect(self, verdict, *names):
        rows = self.judged()
        for name in names:
            self.assertEqual(rows[name]["verdict"], verdict, rows[name])
        return rows

    def test_malleable_jobs_gain(self):
        self.expect("holds", "more", "speed")
        self.assertIn("The rules of keep-pref", " ".join(self.printed.split()))

    def test_rigid_jobs_are_never_resized_and_shares_are_nested(self):
        code, said = check(self.run)
        self.assertEqual(code, 0, said)
        malleable = {}
        for path in self.run.rglob("jobs.csv*"):
            point, policy, trial = path.parents[3].name, path.parents[2].name, path.parent.name
            with subprocess.Popen(["gzip", "-dcf", path], stdout=subprocess.PIPE, text=True) as text:
                rows = list(csv.DictReader(text.stdout))
            for row in rows:
                if row["class"] == "rigid":
                    self.assertEqual(row["resizes"], "0", (path, row))
            malleable.setdefault((policy, trial), {})[point] = {row["job_id"] for row in rows if row["class"] == "malleable"}
        for points in malleable.values():
            none, some, most = sorted(points.values(), key=len)
            self.assertTrue(not none and some and none < some < most, points)

    def test_a_world_in_which_they_lose(self):
        def slow(row):
            for name in ("mean_turnaround_s", "mean_wait_s"):
                row[name] = str(float(row[name]) * 1000 + 1e7)
        self.change_summaries(slow)
        self.expect("does not hold", *GAINS)

    def test_a_world_in_which_they_change_nothing(self):
        by_cell = {}
        for path in self.run.rglob("summary.csv"):
            if (path.parent / "easy").exists():
                with path.open(newline="") as file:
                    by_cell |= {row["trial"]: row for row in csv.DictReader(file) if row["policy"] == "easy"}

        def same(row):
            row.update({name: by_cell[row["trial"]][name] for name in row if name.endswith("_s")})
        self.change_summaries(same)
        rows = self.expect("does not hold", "turnaround", "makespan", "wait", "utilisation")
        self.assertAlmostEqual(rows["turnaround"]["ours"], 0, places=6)
        self.assertAlmostEqual(rows["more"]["ours"], 0, places=6)

    def test_a_run_that_was_interrupted_tells_no_speed(self):
        manifest = self.run / "manifest.json"
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "finished": None}))
        self.expect("not supported here", "speed")

    def test_without_rigid_jobs_to_compare_with_nothing_is_said(self):
        points = [point for point in json.loads((self.run / "manifest.json").read_text())["points"] if float(point["values"]["trace.malleable_share"]) > 0]
        manifest = json.loads((self.run / "manifest.json").read_text())
        (self.run / "manifest.json").write_text(json.dumps({**manifest, "points": points}))
        result = forked.run(ROOT / "plots" / f"{FIGURE}.py", self.run, "--out", self.run.parent / "plot")
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("there is no run of 0 % malleable jobs", result.stderr)


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()

#!/usr/bin/env python3
"""Is the data of plots beside them, are plots drawn once only, does a closed pipe cost none, and is a sweep without a script of its own
drawn? drawn_test.py RUN [unittest args]: RUN is a run's folder, which is copied."""
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PLOTS = Path(__file__).resolve().parent.parent.parent / "plots"
sys.path.insert(0, str(PLOTS))
import forked  # noqa: E402  (the path must be set first)
import load  # noqa: E402
import plot_data  # noqa: E402
import style  # noqa: E402
import sweep as sweep_plot  # noqa: E402

RUN = None  # Given on the command line.


def run_script(name, *arguments, cwd=None):
    return forked.run(PLOTS / f"{name}.py", *arguments, cwd=cwd)


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


class DrawnTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = Path(folder.name) / "run"
        shutil.copytree(RUN, self.run_folder)
        self.plots = self.run_folder / "plots"

    def draw(self):
        result = run_script("plot_all", self.run_folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def times(self):
        return {path.name: path.stat().st_mtime_ns for path in self.plots.glob("*.png")}

    def test_what_is_there_is_not_drawn_again(self):
        first, times = self.draw(), self.times()
        again = self.draw()
        self.assertTrue(again.startswith(first))
        self.assertIn("drawn before", again.removeprefix(first))
        self.assertEqual(self.times(), times)

    def test_paths_are_those_of_the_caller(self):
        self.draw()
        moved = run_script("plot_all", "run", cwd=self.run_folder.parent)
        self.assertIn("\nrun/plots/gantt.png\n", moved.stdout)
        self.assertIn("drawn before", moved.stdout)

    def test_what_is_missing_or_has_changed_is_drawn_again(self):
        self.draw()
        (self.plots / "gantt.png").unlink()
        self.assertNotIn("drawn before", self.draw())
        times = self.times()
        cell = next(self.run_folder.glob("*/*/*/cell.json"))
        cell.write_text(json.dumps({**json.loads(cell.read_text()), "marks": ["late"]}))
        self.assertNotIn("drawn before", self.draw())
        self.assertNotEqual(self.times(), times)

    def test_what_failed_is_tried_again(self):
        for path in self.run_folder.glob("*/*/*/steps.csv"):
            path.unlink()
        self.assertEqual([run_script("plot_all", self.run_folder).returncode for _ in range(2)], [1, 1])

    def test_a_closed_pipe_costs_no_plot(self):
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run([sys.executable, PLOTS / "plot_all.py", self.run_folder], stdout=writer, stderr=subprocess.PIPE, text=True,
                                check=False)
        os.close(writer)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(sorted(self.times()), ["cores_over_time.png", "gantt.png", "policy_comparison.png", "step_time.png"])

    def test_bars_are_in_the_data(self):
        self.draw()
        summary = load.Run(self.run_folder).summary()
        of = summary[(summary["policy"] == "equal-share") & (summary["elasticity"] == "malleable")]
        bars = [row for row in rows_of(self.plots / "policy_comparison.csv")
                if row["panel"].startswith("makespan") and (row["group"], row["series"], row["kind"]) == ("equal-share", "malleable", "bar")]
        self.assertEqual([float(bar["y_end"]) for bar in bars], [float(f"{of['makespan_s'].median():.9g}")])

    def sweep(self, second=None):
        """The run twice, as points of a sweep; by a second key once more."""
        sweep = self.run_folder.parent / "sweep"
        points = [{"name": f"jobs={jobs},{value}", "values": {"trace.jobs": str(jobs), **({second: str(value)} if second else {})}}
                  for value in ((1, 2) if second else (1,)) for jobs in (10, 9)]
        for point in points:
            shutil.copytree(RUN, sweep / point["name"])
        manifest = json.loads((RUN / "manifest.json").read_text())
        (sweep / "manifest.json").write_text(json.dumps({**manifest, "points": points}))
        return sweep

    def test_a_sweep_is_drawn_along_its_key(self):
        sweep = self.sweep()
        result = run_script("sweep", sweep)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout.split(), [str(sweep / "plots" / f"sweep{suffix}") for suffix in (".png", ".pdf", ".csv")])
        rows = [row for row in rows_of(sweep / "plots" / "sweep.csv") if row["y_label"] == "makespan [s]" and row["kind"] == "line"]
        self.assertEqual(list(dict.fromkeys(row["group"] for row in rows)), ["9", "10"])
        self.assertEqual({row["series"] for row in rows}, {"rigid", "malleable"})

    def test_all_columns_show_all_that_they_have(self):
        sweep = load.Sweep(self.sweep(second="steps"))
        for point in sweep.points[2:]:
            table = point.run.summary()
            point.run.summary = lambda table=table.assign(makespan_s=10 * table["makespan_s"]): table
        figure = sweep_plot.draw(sweep)
        for axes in figure.axes[:4]:
            highest = max(max(line.get_ydata()) for line in axes.get_lines())
            self.assertLess(highest, axes.get_ylim()[1])
        self.assertEqual([axes.get_title("left") for axes in figure.axes[:2]], ["steps = 1", "steps = 2"])
        style.plt.close(figure)

    def test_a_run_is_no_sweep(self):
        result = run_script("sweep", self.run_folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn("is no sweep", result.stderr)


class PlotDataTest(unittest.TestCase):
    def test_every_kind_of_mark_is_a_row(self):
        figure, axes = style.plt.subplots()
        axes.plot([1, 2], [3, 4], label="line")
        axes.plot([5], [6], "o", label="_hidden")
        axes.scatter([7], [8])
        axes.bar([9], [10], width=2)
        axes.vlines([11], [12], [13])
        axes.axvline(14)
        rows = [dict(zip(plot_data.COLUMNS, row)) for row in plot_data.rows(figure)]
        style.plt.close(figure)
        seen = [(row["series"], row["kind"], *(row[name] for name in ("x", "y", "x_end", "y_end"))) for row in rows]
        self.assertEqual(seen, [
            ("line", "line", "1", "3", "", ""), ("line", "line", "2", "4", "", ""), ("hidden", "dot", "5", "6", "", ""),
            ("", "mark", "14", "0", "", ""), ("", "mark", "14", "1", "", ""), ("", "bar", "8", "0", "10", "10"),
            ("", "dot", "7", "8", "", ""), ("", "line", "11", "12", "", ""), ("", "line", "11", "13", "", "")])


if __name__ == "__main__":
    RUN = Path(sys.argv.pop(1))
    unittest.main()

#!/usr/bin/env python3
"""Throughput over time and completion of one tenant that grows to all cores in mid-run: malleable, rigid, and the ideal."""
import numpy as np

import claims
import figures
import style
from style import plt

KEY = "policy.scripted.timetable"
COLORS = {"rigid": "#7a7a7a", "malleable": "#D55E00", "ideal": "#0072B2"}
BINS = 24  # Of the throughput over time.


def timetables(sweep):
    growing = next((t for t in sweep.values(KEY) if " " in t), None)
    whole = next((t for t in sweep.values(KEY) if " " not in t), None)
    if growing is None or whole is None:
        raise claims.NotHere("the records lack the growing tenant or the one on all cores")
    return growing, whole


def grown_at(cell):
    """When the cores came, since the job's start; None if they never did (it was too fast)."""
    grants = cell.table("grants")
    times = grants.loc[grants["kind"] == "granted", "time"].to_numpy()
    return times[1] - times[0] if len(times) > 1 else None


def completion(cell):
    return float(cell.table("jobs")["execution_time"].iloc[0])


def ideal(rigid, whole, at):
    """The completion time of a tenant that computes as the rigid one until `at` and then as the one on all cores."""
    steps = rigid.table("steps").sort_values("step")
    ends = steps["time"].to_numpy() - rigid.table("jobs")["starting_time"].iloc[0]
    done = np.interp(at, [ends[0] - steps["duration_ms"].iloc[0] / 1e3, *ends], range(len(ends) + 1))
    return at + (len(ends) - done) * whole.steady_steps()["duration_ms"].mean() / 1e3


def trials_of(sweep):
    """A dict a trial: completion times, each a list of one."""
    growing, whole = timetables(sweep)
    by_trial = {}
    for table, elasticity, name in ((growing, "rigid", "rigid"), (growing, "malleable", "malleable"), (whole, "malleable", "whole")):
        for cell in sweep.cells(elasticity, timetable=table):
            by_trial.setdefault(cell.trial, {})[name] = cell
    trials = []
    for cells in by_trial.values():
        at = grown_at(cells["malleable"]) if len(cells) == 3 else None
        if at is not None:
            trials.append({"rigid": [completion(cells["rigid"])], "malleable": [completion(cells["malleable"])],
                           "ideal": [ideal(cells["rigid"], cells["whole"], at)], "at": [at]})
    if not trials:
        raise claims.NotHere("the tenant ended before it could grow: raise workload.resnet20.steps")
    return trials


def ratio(trials, name, reference):
    return claims.median(t[name][0] / t[reference][0] for t in trials)


def measure(sweep):
    def change():
        return ratio(trials_of(sweep), "malleable", "rigid").scaled(lambda value: 100 * (value - 1))

    return {"shorter": change, "extent": change, "ideal": lambda: ratio(trials_of(sweep), "malleable", "ideal")}


def draw_throughput(axes, cells, elasticity, batch):
    """Images a second in bins of time, over all trials; a step counts in the bins that it spans."""
    rates = []
    last = max(cell.table("steps")["time"].max() for cell in cells)
    edges = np.linspace(0, last, BINS + 1)
    for cell in cells:
        ends = np.sort(cell.table("steps")["time"])
        rates.append(np.diff(np.interp(edges, [0, *ends], range(len(ends) + 1))) * batch / np.diff(edges))
    axes.stairs(np.mean(rates, axis=0), edges, color=COLORS[elasticity], linewidth=1.6, label=elasticity)


def draw(sweep, expected):
    growing, _ = timetables(sweep)
    batch = sweep.points[0].run.manifest["experiment"]["workload"][0]["batch"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), width_ratios=[2, 1])
    for elasticity in ("rigid", "malleable"):
        draw_throughput(left, sweep.cells(elasticity, timetable=growing), elasticity, batch)
    times = [grown_at(cell) for cell in sweep.cells("malleable", timetable=growing)]
    for at in filter(None, times[:1]):
        left.axvline(at, color="#888888", linewidth=0.9)
        left.annotate(f"all {sweep.cores_here} cores", (at, 1), xycoords=("data", "axes fraction"), xytext=(3, -2),
                      textcoords="offset points", va="top", fontsize=8, color="#555555")
    left.set_xlabel("time since the job's start [s]")
    left.set_ylabel("throughput [images/s]")
    left.set_title("mean over trials", loc="left")
    left.legend(loc="lower right", frameon=True, edgecolor="none")
    draw_completion(right, sweep, growing, expected)
    figure.suptitle("One tenant that gets all cores in mid-run")
    return figure


def draw_completion(axes, sweep, growing, expected):
    for x, elasticity in enumerate(("rigid", "malleable")):
        values = [completion(cell) for cell in sweep.cells(elasticity, timetable=growing)]
        axes.bar(x, np.mean(values), 0.7, color=COLORS[elasticity], alpha=0.75)
        axes.plot(x + np.linspace(-0.15, 0.15, len(values)), values, "o", color="white", markeredgecolor=style.INK,
                  markeredgewidth=0.7, markersize=3.5)
    try:
        best = np.mean([trial["ideal"][0] for trial in trials_of(sweep)])
        axes.axhline(best, color=COLORS["ideal"], linestyle=(0, (5, 2)), linewidth=1.3, label=f"ideal ({best:.2f} s)")
        axes.legend(loc="lower right", frameon=True, edgecolor="none")
    except claims.NotHere:
        pass  # The claims say so.
    axes.set_xticks([0, 1], ["rigid", "malleable"])
    axes.set_ylabel("completion time [s]")
    axes.set_title(f"published, 2 to 16 cores: {expected['published_change_percent']} %", loc="left")


if __name__ == "__main__":
    figures.main("fig_grow", draw, measure, __doc__)

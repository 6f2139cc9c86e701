#!/usr/bin/env python3
"""Speed of a pipeline whose cores go 2, 1, 2, none, 2 while its requests are inside, and how long its resizes take."""
import numpy as np

import claims
import figures
import style
from load import parse_cpus
from style import plt

EDGE_S = 0.1  # After a resize, as long as a call may go on by samples, and more.
WINDOW_S = 0.3  # Of the plot's speed.
AFTER_S = 1.0  # That is shown after the last resize.
SPEED, CORES = "#0072B2", "#D55E00"
PHASES = ["full", "shrunk", "regrown", "paused", "resumed"]


def progress(cell):
    """Times, and the items that all stages together had taken by then."""
    taken = cell.table("stages").groupby("time")["taken"].sum()
    return taken.index.to_numpy(), taken.to_numpy()


def phases(cell):
    """By name of the first phases: its speed, in items and stages a second."""
    grants = cell.table("grants")
    begins = grants.loc[grants["kind"] == "granted", "time"].to_numpy()
    if len(begins) <= len(PHASES):
        raise claims.NotHere("the timetable was not played to its end: the pipeline had too little to do")
    times, taken = progress(cell)
    speeds = {}
    for name, begin, end in zip(PHASES, begins, begins[1:]):
        inside = np.flatnonzero((times >= begin + EDGE_S) & (times <= end))
        inside = inside[taken[inside] > 0]  # What begins is not under way.
        if len(inside) < 2:
            raise claims.NotHere(f"nothing was sampled while it was {name}")
        first, last = inside[0], inside[-1]
        speeds[name] = (taken[last] - taken[first]) / (times[last] - times[first])
    return speeds


def cells(sweep):
    return sweep.points[0].run.cells


def ratio(sweep, phase, times):
    """Speed of a phase by that before the first resize, as % of what its cores allow, by trial."""
    return claims.median(100 * speeds[phase] / speeds["full"] * times for speeds in map(phases, cells(sweep)))


def settled(cell):
    return cell.table("resizes")["taken_us"].to_numpy() / 1e3


def lost(sweep):
    """Counted: one is a defect, and no noise."""
    counts = [float((cell.table("requests")["state"] != "served").sum()) for cell in cells(sweep)]
    return claims.Estimate(sum(counts), sum(counts), sum(counts), 1.0, len(counts))


def measure(sweep):
    return {
        "shrunk": lambda: ratio(sweep, "shrunk", 2),
        "regrown": lambda: ratio(sweep, "regrown", 1),
        "resumed": lambda: ratio(sweep, "resumed", 1),
        "paused": lambda: ratio(sweep, "paused", 1),
        "settled": lambda: claims.median(np.percentile(settled(cell), 99) for cell in cells(sweep)),
        "lost": lambda: lost(sweep),
    }


def draw_speed(axes, cell):
    times, taken = progress(cell)
    grants = cell.table("grants")
    grants = grants[grants["kind"] == "granted"]
    until = min(times[-1], grants["time"].iloc[-1] + AFTER_S)
    grid = np.arange(times[0], until - WINDOW_S, WINDOW_S / 5)
    speed = (np.interp(grid + WINDOW_S, times, taken) - np.interp(grid, times, taken)) / WINDOW_S
    axes.plot(grid + WINDOW_S / 2, speed, color=SPEED, linewidth=1.2, label="items and stages a second")
    counts = [len(parse_cpus(text)) for text in grants["cores"]]
    full = phases(cell)["full"]
    axes.step([*grants["time"], until], [full * count / 2 for count in [*counts, counts[-1]]], where="post", color=CORES, linewidth=1.2,
              linestyle=(0, (4, 2)), label="what its cores allow")
    axes.set_xlim(0, until)
    axes.set_ylim(0, 1.4 * full)
    axes.set_xlabel("time [s]")
    axes.set_title("items and stages a second, first trial", loc="left")
    axes.legend(loc="lower right", frameon=True, edgecolor="none")


def draw(sweep, _expected):
    figure, (speed_axes, settle_axes) = plt.subplots(1, 2, figsize=(11, 3.6), width_ratios=[2.2, 1])
    draw_speed(speed_axes, cells(sweep)[0])
    values = np.sort(np.concatenate([settled(cell) for cell in cells(sweep)]))
    settle_axes.step(values, 100 * np.arange(1, len(values) + 1) / len(values), where="post", color=SPEED)
    settle_axes.set_xscale("symlog", linthresh=0.01)
    settle_axes.set_xlim(left=0)
    settle_axes.set_ylim(0, 101)
    settle_axes.set_xlabel("until the last thread is in its place [ms]")
    settle_axes.set_title(f"resizes that were over by then [%], of {len(values)}", loc="left")
    return figure


if __name__ == "__main__":
    figures.main("fig_pipeline_elastic", draw, measure, __doc__)

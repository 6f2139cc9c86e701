#!/usr/bin/env python3
"""A Gantt chart per policy: a row a job, the colour is the number of cores granted, waiting and paused times are grey; a cross ends
the row of a job that was lost."""
import matplotlib as mpl
import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import load
import style
from style import plt

READS = ["grants"]
MOST_LEVELS = 8
MOST_LETTERS = 14  # Of a workload's name.
LOST = {"linestyle": "none", "marker": "x", "color": style.EXCESS, "markersize": 5, "markeredgewidth": 1.5, "zorder": 3,
        "clip_on": False, "in_layout": False}


def levels(run):
    """Bounds of the colour steps, one a core up to MOST_LEVELS."""
    most = max(1, len(run.cells[0].machine_cores))
    steps = min(most, MOST_LEVELS)
    return np.unique(np.round(np.linspace(0, most, steps + 1)).astype(int)) + 0.5


def spans(cell):
    """(job, begin, end, cores) of every stretch of time in which a job's grant stays the same."""
    shown, until = cell.opening()
    grants = cell.table("grants")
    changes = grants[grants["job_id"].isin(shown) & (grants["time"] <= until) & (grants["kind"] != "settled")]
    changes = changes.sort_values("job_id", kind="stable")
    jobs, times = changes["job_id"].to_numpy(), changes["time"].to_numpy()
    counts = [len(load.parse_cpus(cores)) for cores in changes["cores"]]
    for place in np.flatnonzero(jobs[:-1] == jobs[1:]):
        yield jobs[place], times[place], times[place + 1], counts[place]
    if np.isfinite(until):  # What the last change of a job gives it lasts beyond what is shown.
        for place in np.flatnonzero(np.append(jobs[:-1] != jobs[1:], len(jobs) > 0)):
            if changes["kind"].iloc[place] != "released":
                yield jobs[place], times[place], until, counts[place]


def names(cell, jobs):
    """(job, its workload), in the order of jobs."""
    table = cell.table("jobs")
    workload = dict(zip(table["job_id"], table["workload"]))
    return [(job, workload[job]) for job in jobs]


def draw_cell(axes, cell, colors, norm):
    jobs = sorted(cell.opening()[0])
    row = {job: index for index, job in enumerate(jobs)}
    boxes, shades = [], []
    for job, begin, end, cores in spans(cell):
        half = 0.39 if cores > 0 else 0.21
        low, high = row[job] - half, row[job] + half
        boxes.append([(begin, low), (end, low), (end, high), (begin, high)])
        shades.append(colors(norm(cores)) if cores > 0 else style.WAITING)
    axes.add_collection(PolyCollection(boxes, facecolors=shades, linewidths=0))
    lost = cell.lost()
    lost = lost[lost["job_id"].isin(jobs)]
    axes.plot(lost["finish_time"], lost["job_id"].map(row), **LOST)
    axes.autoscale_view(scaley=False)
    axes.set_ylim(len(jobs) - 0.4, -0.6)
    step = max(1, int(np.ceil(len(jobs) / 8)))
    axes.set_yticks(range(0, len(jobs), step), [f"{name[:MOST_LETTERS]} {job}" for job, name in names(cell, jobs)][::step])
    axes.grid(axis="y", visible=False)


def draw(run):
    jobs = max(len(cell.opening()[0]) for cell in run.cells)
    rows, columns = len(run.policies), len(run.elasticities)
    height = float(np.clip(0.13 * jobs, 0.9, 2.6))
    figure, grid = plt.subplots(rows, columns, figsize=(max(6.5, 4.6 * columns), 1.0 + rows * (height + 0.32)),
                                sharex=True, sharey=True, squeeze=False)
    bounds = levels(run)
    colors = mpl.colors.ListedColormap(mpl.colormaps["YlGnBu"](np.linspace(0.35, 1.0, len(bounds) - 1)))
    norm = mpl.colors.BoundaryNorm(bounds, colors.N)
    for axes, (policy, elasticity) in zip(grid.flat, [(p, e) for p in run.policies for e in run.elasticities]):
        cell = run.first_cell(policy, elasticity)
        doubts = "" if cell is None else cell.doubts()
        axes.set_title(f"{policy}, {elasticity}{doubts}", loc="left", color=style.policy_color(policy, run.policies), weight="bold")
        if cell is not None:
            draw_cell(axes, cell, colors, norm)
    for axes in grid[:, 0]:
        axes.set_ylabel("job")
    for axes in grid[-1, :]:
        axes.set_xlabel("time [s]")
        axes.set_xlim(left=0)
    ticks = (bounds[:-1] + bounds[1:]) / 2
    labels = [f"{low + 0.5:.0f}" if high - low == 1 else f"{low + 0.5:.0f}–{high - 0.5:.0f}"
              for low, high in zip(bounds[:-1], bounds[1:])]
    bar = figure.colorbar(mpl.cm.ScalarMappable(norm, colors), ax=grid, shrink=min(1.0, 3.0 / figure.get_figheight()),
                          aspect=18, label="cores granted", ticks=ticks)
    bar.ax.set_yticklabels(labels)
    bar.ax.tick_params(which="both", length=0)
    handles = [Patch(facecolor=style.WAITING, label="waiting or paused")]
    if any(len(cell.lost()) > 0 for cell in run.cells):
        handles.append(Line2D([], [], **LOST, label="lost (failed, rejected or cancelled)"))
    style.legend_below(figure, handles, len(handles))
    figure.suptitle(f"{run.title}: cores of every job, trial {run.cells[0].trial}{run.shown_jobs()}")
    return figure


if __name__ == "__main__":
    style.main(draw, "gantt", __doc__)

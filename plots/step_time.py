#!/usr/bin/env python3
"""Step time against step of the jobs that were resized most, with the resize instants and what static jobs needed."""
import itertools
from collections import defaultdict

import numpy as np
import pandas as pd

import load
import style
from style import plt

READS = ["steps", "grants"]
TIMED = ("job_id", "step", "duration_ms", "threads")  # What is read of all cells' steps.
MOST_PANELS = 4
FEWEST_STEPS = 5  # Of a static reference.
THREAD_COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
OTHER_SIZES = "#aaaaaa"  # Sizes beyond the most used ones, which have a colour each.
LABEL_GAP, LABEL_ROWS = 0.03, 3  # Of the axis: labels that are closer than this stand in rows.


def stepping(cells):
    """(cell, job row) of all jobs that ended a step: services have none, nor has what failed early."""
    for cell in cells:
        jobs = cell.table("jobs")
        yield from ((cell, row) for _, row in jobs[jobs["steps"] > 0].iterrows())


def most_resized_of(cells):
    """The (cell, job row) with most resizes, of equal ones with most steps, and of those the first; None if none ended a step."""
    best = None
    for cell in cells:
        jobs = cell.table("jobs")
        jobs = jobs[jobs["steps"] > 0]
        if len(jobs) == 0:
            continue
        place = np.lexsort((-np.arange(len(jobs)), jobs["steps"], jobs["resizes"]))[-1]
        row = jobs.iloc[place]
        if best is None or (row["resizes"], row["steps"]) > (best[1]["resizes"], best[1]["steps"]):
            best = cell, row
    return best


def most_resized(run):
    """Up to MOST_PANELS (cell, job row), the most resized malleable job of a policy; else any job, so that there is a plot."""
    found = []
    for policy in run.policies:
        cells = [cell for cell in run.cells if cell.policy == policy and not run.oversubscribes(policy)]
        best = most_resized_of(cell for cell in cells if cell.elasticity == "malleable")
        if best is not None:
            found.append(best)
    found.sort(key=lambda job: -job[1]["resizes"])
    resized = [job for job in found if job[1]["resizes"] > 0]
    if resized:
        return resized[:MOST_PANELS]
    return found[:1] or list(itertools.islice(stepping(run.cells), 1))


def static_steps(run):
    """Durations of the steps of jobs that kept one size and had a core a thread, exclusively, by workload and threads: what a resized
    job should equal."""
    parts = defaultdict(list)
    for cell in run.cells:
        if run.oversubscribes(cell.policy):
            continue
        jobs = cell.table("jobs")
        cores = jobs["allocated_resources"].map(lambda text: len(load.parse_cpus(text)))
        fixed = jobs[(jobs["resizes"] == 0) & (jobs["threads"] == cores) & (jobs["state"] == "finished")]
        if len(fixed) == 0:
            continue
        steps = cell.table("steps", TIMED)
        steps = steps[steps["step"] > 0]  # The first step also makes the kernels.
        numbers = fixed["job_id"].to_numpy()
        order = np.argsort(numbers)
        place = order[np.searchsorted(numbers, steps["job_id"], sorter=order).clip(max=len(order) - 1)]
        known = numbers[place] == steps["job_id"].to_numpy()
        workloads, names = pd.factorize(fixed["workload"])
        groups = steps[known].groupby([workloads[place[known]], "threads"])["duration_ms"]
        for (workload, threads), durations in groups:
            parts[names[workload], threads].append(durations.to_numpy())
    return {key: np.concatenate(durations) for key, durations in parts.items()}


def resize_steps(cell, job):
    """(step, threads) for every change of a job's threads: the first step that was done with them."""
    steps = cell.table("steps")
    mine = steps[steps["job_id"] == job].sort_values("time")
    ends, had = mine["time"].to_numpy(), mine["threads"].to_numpy()
    grants = cell.table("grants")
    rows = grants[(grants["job_id"] == job) & (grants["kind"] == "granted")]
    changed = rows[rows["threads"] != rows["threads"].shift()].iloc[1:]
    found = []
    for time, threads in zip(changed["time"], changed["threads"]):
        step = int(np.searchsorted(ends, time))
        late = step < len(had) and had[step] != threads  # What was granted during this step took effect after it.
        found.append((step + late, int(threads)))
    return found


def draw_steps(axes, mine, reference_of):
    """The steps in a colour per number of threads, with the static reference of the same colour. Returns the top of the axis."""
    references = {threads: reference_of(threads) for threads in mine["threads"].value_counts().index[:len(THREAD_COLORS)]}
    top = max([1.35 * mine["duration_ms"].quantile(0.97)] + [1.25 * value for value in references.values() if value])
    beyond = mine["duration_ms"] > top
    clipped = mine.assign(duration_ms=mine["duration_ms"].clip(upper=0.97 * top))
    others = clipped[~clipped["threads"].isin(list(references))]
    for color, (threads, reference) in zip(THREAD_COLORS, sorted(references.items())):
        part = clipped[clipped["threads"] == threads]
        label = f"{threads} thread{'s' if threads != 1 else ''}"
        if reference:
            axes.axhline(reference, color=color, linewidth=1.2, linestyle=(0, (5, 2)))
            label += f"\n(static {reference:.1f} ms)" if len(references) <= 4 else f" ({reference:.1f} ms)"
        for marker, shown in (("o", part[~beyond[part.index]]), ("^", part[beyond[part.index]])):
            axes.plot(shown["step"], shown["duration_ms"], marker, markersize=3 if marker == "o" else 5, color=color,
                      label=label if marker == "o" else None)
    if len(others) > 0:
        axes.plot(others["step"], others["duration_ms"], "o", markersize=3, color=OTHER_SIZES, label="other sizes")
    if beyond.any():
        longest = mine.loc[beyond, "duration_ms"].max()
        axes.annotate(f"▲ {beyond.sum()} above, up to {longest:.0f} ms", (1, 1), xycoords="axes fraction", xytext=(-2, 3),
                      textcoords="offset points", ha="right", va="bottom", fontsize=7.5, color="#555555")
    return top


def draw_resizes(axes, resizes, last_step):
    """An instant each; labels that would lie on one another stand in the next row, those beyond the last row as dots."""
    ends = [-np.inf] * LABEL_ROWS
    hidden = False
    for step, threads in resizes:
        axes.axvline(step - 0.5, color="#888888", linewidth=0.9)
        row = next((row for row, end in enumerate(ends) if step - end >= LABEL_GAP * last_step), None)
        if row is None:
            hidden = True
            continue
        ends[row] = step
        axes.annotate(f"{'…' * hidden}→{threads}", (step - 0.5, 1), xycoords=("data", "axes fraction"), xytext=(2, -2 - 8 * row),
                      textcoords="offset points", ha="left", va="top", fontsize=7.5, color="#555555")
        hidden = False


def draw_job(axes, cell, job, statics):
    steps = cell.table("steps")
    mine = steps[steps["job_id"] == job["job_id"]].sort_values("step")

    def reference_of(threads):
        same = statics.get((job["workload"], threads), ())
        return np.median(same) if len(same) >= FEWEST_STEPS else None

    axes.set_ylim(0, draw_steps(axes, mine, reference_of))
    draw_resizes(axes, resize_steps(cell, job["job_id"]), mine["step"].max())
    axes.set_title(f"{cell.policy}, {cell.elasticity}, trial {cell.trial}: job {job['job_id']} ({job['workload']})", loc="left")
    axes.set_ylabel("step time [ms]")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def draw(run):
    jobs = most_resized(run)
    if not jobs:
        figure = plt.figure(figsize=(8.5, 1.5))
        figure.suptitle(f"{run.title}: no job ended a step")
        return figure
    statics = static_steps(run)
    figure, grid = plt.subplots(len(jobs), 1, figsize=(8.5, 0.9 + 1.9 * len(jobs)), squeeze=False)
    for axes, (cell, job) in zip(grid[:, 0], jobs):
        draw_job(axes, cell, job, statics)
    for axes in grid[:, 0]:
        axes.xaxis.set_major_locator(plt.MaxNLocator(integer=True))
    grid[-1, 0].set_xlabel("step")
    resized = any(job["resizes"] > 0 for _, job in jobs)
    figure.suptitle(f"{run.title}: step time of {'the most resized jobs' if resized else 'a job; none was resized'}"
                    "   (dashed: median of jobs that kept their size)")
    return figure


if __name__ == "__main__":
    style.main(draw, "step_time", __doc__)

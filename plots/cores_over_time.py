#!/usr/bin/env python3
"""Cores by tenant over time, stacked, of shares their amounts, and under it the runnable compute threads against the cores they share."""
from collections import Counter

import numpy as np
import pandas as pd
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import load
import style
from style import plt

READS = ["grants", "samples"]
TENANT_COLORS = [plt.get_cmap("tab20")(i) for i in list(range(0, 20, 2)) + list(range(1, 20, 2))]
SAMPLED = ("time", "job_id", "granted_cores", "runnable_threads")  # What is read of samples.
MOST_OUTLINED = 16  # With more jobs the white lines between them would hide them.


def core_steps(cell):
    """Times, and per job the cores that it has from each of them on; of shared ones its amount."""
    shown, until = cell.opening()
    grants = cell.table("grants")
    grants = grants[grants["job_id"].isin(shown) & (grants["time"] <= until)]
    times = np.unique(grants["time"])
    counts = {}
    for job, rows in grants.groupby("job_id"):
        owned = rows["owned_amount"].to_numpy()
        latest = np.searchsorted(rows["time"].to_numpy(), times, side="right") - 1
        counts[job] = np.where(latest >= 0, owned[np.maximum(latest, 0)], 0)
    return times, counts


def stacked(times, counts):
    """(job's index, corners) of every area in the stack of all jobs' cores, only where the job has some: a job lives a short part of
    the trace, and a band of no height from end to end costs as much to draw as any."""
    table = np.array([counts[job] for job in sorted(counts)])
    tops = np.cumsum(table, axis=0)
    for index, (cores, top) in enumerate(zip(table, tops)):
        held = np.flatnonzero(cores > 0)
        for stretch in np.split(held, np.flatnonzero(np.diff(held) > 1) + 1):
            if len(stretch) == 0:
                continue
            edges = times[np.append(stretch, min(stretch[-1] + 1, len(times) - 1))]
            x = np.repeat(edges, 2)[1:-1]
            high, low = np.repeat(top[stretch], 2), np.repeat((top - cores)[stretch], 2)
            yield index, np.column_stack([np.append(x, x[::-1]), np.append(high, low[::-1])])


def load_steps(cell):
    """Times, runnable compute threads R and distinct cores C; a sample holds until the job's next one or its end, and from the
    start of any job on what the next sample says (experiments/README.md, Metrics)."""
    shown, until = cell.opening()
    samples, jobs = (table[table["job_id"].isin(shown)] for table in (cell.table("samples", SAMPLED), cell.table("jobs")))
    samples = samples[samples["time"] <= until]
    ends = jobs[["finish_time", "job_id"]].rename(columns={"finish_time": "time"})
    lived = samples["time"] < samples["job_id"].map(ends.set_index("job_id")["time"])
    changes = pd.concat([samples[lived], at_starts(samples, jobs), ends[ends["time"] <= until].assign(runnable_threads=0, granted_cores="")])
    changes = changes.sort_values("time", kind="stable", ignore_index=True)
    before = changes.groupby("job_id")[["runnable_threads", "granted_cores"]].shift()
    threads = changes["runnable_threads"] - before["runnable_threads"].fillna(0)
    distinct = distinct_changes(changes["granted_cores"].to_numpy(), before["granted_cores"].fillna("").to_numpy())
    # A cell in which nobody ran has no numbers to tell the columns' types by.
    return only_changes(changes["time"].to_numpy(float), np.cumsum(threads.to_numpy(float)), np.cumsum(distinct))


def distinct_changes(granted, before):
    """By how much the number of cores that anybody has changes, at each change of a job's cores."""
    holders, changes = Counter(), np.zeros(len(granted), dtype=int)
    for index in np.flatnonzero(granted != before):
        for cpu in load.parse_cpus(before[index]):
            holders[cpu] -= 1
            changes[index] -= holders[cpu] == 0
        for cpu in load.parse_cpus(granted[index]):
            changes[index] += holders[cpu] == 0
            holders[cpu] += 1
    return changes


def only_changes(times, *values):
    """Steps without those that go on as before: most samples say what the last ones said. The last one says how long."""
    kept = np.any([np.diff(one, prepend=np.nan) != 0 for one in values], axis=0)
    kept[-1:] = True
    return times[kept], *(one[kept] for one in values)


def at_starts(samples, jobs):
    """What the next sample says of every job that lives when one starts, as a table of samples at that time."""
    lives = {job.job_id: (job.starting_time, job.finish_time) for job in jobs.itertuples()}
    starts = np.unique([start for start, _ in lives.values() if start == start])  # A job that never started has NaN.
    sampled_at = samples["time"].to_numpy()
    rows, at = [np.empty(0, dtype=int)], [np.empty(0)]
    for job, of_job in samples.groupby("job_id").indices.items():
        times = sampled_at[of_job]
        begin, end = lives[job]
        lived = starts[np.searchsorted(starts, begin):np.searchsorted(starts, end)]
        lived = lived[lived < times[-1]]
        place = np.searchsorted(times, lived)
        told = (lived < times[place]) & (times[place] <= end)
        rows.append(of_job[place[told]])
        at.append(lived[told])
    return samples.iloc[np.concatenate(rows)].assign(time=np.concatenate(at))


def draw_cell(upper, lower, cell):
    times, counts = core_steps(cell)
    areas = list(stacked(times, counts))
    upper.add_collection(PolyCollection([corners for _, corners in areas], edgecolors="white",
                                        linewidths=0.4 if len(counts) <= MOST_OUTLINED else 0,
                                        facecolors=[TENANT_COLORS[index % len(TENANT_COLORS)] for index, _ in areas]))
    upper.autoscale_view()
    upper.axhline(len(cell.machine_cores), color=style.INK, linewidth=1, linestyle=(0, (4, 2)))
    time, runnable, cores = load_steps(cell)
    lower.fill_between(time, 0, cores, step="post", color="#c9d6df", linewidth=0)
    excess = np.maximum(runnable, cores)
    lower.fill_between(time, cores, excess, step="post", color=style.EXCESS, alpha=0.35, linewidth=0)
    lower.step(time, runnable, where="post", color=style.EXCESS, linewidth=0.7)


def draw(run):
    rows, columns = len(run.policies), len(run.elasticities)
    figure, grid = plt.subplots(2 * rows, columns, figsize=(max(6.5, 4.6 * columns), 1.0 + 2.1 * rows), squeeze=False,
                                sharex=True, gridspec_kw={"height_ratios": [1.5, 1] * rows})
    for i, policy in enumerate(run.policies):
        for k, elasticity in enumerate(run.elasticities):
            upper, lower = grid[2 * i, k], grid[2 * i + 1, k]
            cell = run.first_cell(policy, elasticity)
            doubts = "" if cell is None else cell.doubts()
            upper.set_title(f"{policy}, {elasticity}{doubts}", loc="left", weight="bold",
                            color=style.policy_color(policy, run.policies))
            if cell is not None:
                draw_cell(upper, lower, cell)
        for part in (0, 1):
            top = max(axes.get_ylim()[1] for axes in grid[2 * i + part])
            for axes in grid[2 * i + part]:
                axes.set_ylim(0, max(top, 1))
                axes.yaxis.set_major_locator(plt.MaxNLocator(3, integer=True))
        grid[2 * i, 0].set_ylabel("cores")
        grid[2 * i + 1, 0].set_ylabel("threads")
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
        axes.set_xlim(left=0)
    style.legend_below(figure, columns=4 if columns > 1 else 2, handles=[
        Line2D([], [], color=style.INK, linewidth=1, linestyle=(0, (4, 2)), label="the machine's cores"),
        Line2D([], [], color=style.EXCESS, linewidth=1, label="runnable compute threads"),
        Patch(facecolor="#c9d6df", label="cores granted (shared ones once)"),
        Patch(facecolor=style.EXCESS, alpha=0.35, label="oversubscription")])
    figure.suptitle(f"{run.title}: cores by tenant (one colour a job), trial {run.cells[0].trial}{run.shown_jobs()}")
    return figure


if __name__ == "__main__":
    style.main(draw, "cores_over_time", __doc__)

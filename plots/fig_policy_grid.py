#!/usr/bin/env python3
"""What malleability gains under each published policy, against the number of jobs: ours with the spread over seeds, and the
published cells, one run each."""
import textwrap

import numpy as np

import figures
import style
from gains import THROUGHPUT, TURNAROUND, gains, pooled
from style import plt

POLICIES = ["strict", "always-attend", "max-prop"]
METRICS = [(THROUGHPUT, "throughput", 2, 3), (TURNAROUND, "mean turnaround", 4, 5)]  # Columns of the published cells.
MIXES = {"partial": ("requests of 8 to 16 of 16 cores", "#0072B2"), "whole": ("requests of 8 of 16 cores", "#D55E00")}
NOISE = 1.96 * 2.9  # The published final tables: equal rigid runs differ with sd 2.9 %.
MIX_KEY = "workload.request-16.weight"


def points(sweep, mix):
    """(jobs, run) of a mix of requests, by jobs."""
    weight = 1 if mix == "partial" else 0
    return sorted(((p.values["trace.jobs"], p.run) for p in sweep.points if p.values[MIX_KEY] == weight), key=lambda pair: pair[0])


def pool(sweep, policy, metric, mixes):
    return pooled([gains(run, policy, metric) for mix in mixes for _, run in points(sweep, mix)])


def measure(sweep):
    both = list(MIXES)
    return {
        "partial_throughput": lambda: pool(sweep, "always-attend", THROUGHPUT, ["partial"]),
        "partial_turnaround": lambda: pool(sweep, "always-attend", TURNAROUND, ["partial"]),
        "whole_throughput": lambda: pool(sweep, "always-attend", THROUGHPUT, ["whole"]),
        "whole_turnaround": lambda: pool(sweep, "always-attend", TURNAROUND, ["whole"]),
        "strict": lambda: pool(sweep, "strict", THROUGHPUT, both),
        "always_attend": lambda: pool(sweep, "always-attend", THROUGHPUT, both),
        "max_prop": lambda: pool(sweep, "max-prop", THROUGHPUT, both),
    }


def spread(run, policy, metric):
    """Median, least and largest of the seeds: of n, one more run such as a published one lies between with (n-1)/(n+1)."""
    values = list(gains(run, policy, metric).values())
    return np.quantile(values, [0.5, 0, 1]) if values else None


def seeds_of(sweep):
    return max(cell.trial for point in sweep.points for cell in point.run.cells)


def chance(seeds):
    return round(100 * (seeds - 1) / (seeds + 1))


def published(expected, policy, mix, column, over):
    """(group, jobs, gain in percent) of the published cells on 16 cores whose grants were of this kind."""
    return [(group["group"], cell[1], 100 * (cell[column] / cell[over] - 1)) for group in expected["published"]["groups"]
            if group["grants"] == mix and group["cores"] == 16 for cell in group["cells"] if cell[0] == policy]


def notes(sweep, expected):
    """Which published cells lie outside of our range of seeds, widened by the noise of the published runs."""
    seeds = seeds_of(sweep)
    lines = [f"Published cells (16 cores, one run each) within the range of our {seeds} seeds, where {chance(seeds)} % of further seeds lie,",
             f"widened by the noise between equal published runs (+-{NOISE:.1f} %):"]
    for metric, title, column, over in METRICS:
        for policy in POLICIES:
            outside, count = {}, 0
            for mix in MIXES:
                ours = {jobs: spread(run, policy, metric) for jobs, run in points(sweep, mix)}
                for group, jobs, gain in published(expected, policy, mix, column, over):
                    if ours.get(jobs) is None:
                        continue
                    count += 1
                    _, low, high = ours[jobs]
                    if not low - NOISE <= gain <= high + NOISE:
                        outside.setdefault(group.split()[0].replace("Esfinge_", ""), []).append(str(jobs))
            text = f"{policy}, {title}: {count - sum(map(len, outside.values()))} of {count}"
            text += "".join(f"; {group}: {' '.join(jobs)}" for group, jobs in outside.items()).replace(";", "; outside", 1)
            lines += textwrap.wrap(text, 116, initial_indent="  ", subsequent_indent="    ")
    return lines


def draw_panel(axes, sweep, expected, policy, metric, columns):
    for i, (mix, (label, color)) in enumerate(MIXES.items()):
        ours = [(jobs, spread(run, policy, metric)) for jobs, run in points(sweep, mix)]
        ours = [(jobs, values) for jobs, values in ours if values is not None]
        if ours:
            jobs = np.array([j for j, _ in ours]) * (0.96 if i == 0 else 1.04)
            median, low, high = np.array([values for _, values in ours]).T
            axes.errorbar(jobs, median, [median - low, high - median], fmt="o-", color=color, markersize=4, linewidth=1.2, capsize=2, label=f"simulated, {label}")
        theirs = published(expected, policy, mix, *columns)
        axes.plot([j * (0.9 if i == 0 else 1.1) for _, j, _ in theirs], [gain for _, _, gain in theirs], "x", color=color, alpha=0.6, markersize=4,
                  label=f"published, grants {'partial' if mix == 'partial' else 'as requested'}")
    axes.axhline(0, color="#888888", linewidth=0.8)
    style.threads_axis(axes)
    axes.set_xticks([8, 16, 32, 64, 128])


def draw(sweep, expected):
    figure, grid = plt.subplots(2, 3, figsize=(10, 6), sharex=True, sharey="row")
    for row, (metric, title, column, over) in zip(grid, METRICS):
        for axes, policy in zip(row, POLICIES):
            draw_panel(axes, sweep, expected, policy, metric, (column, over))
            axes.set_title(policy if metric == THROUGHPUT else "", loc="left")
        row[0].set_ylabel(f"{title}\nmalleable / moldable - 1 [%]")
    for axes in grid[-1]:
        axes.set_xlabel("jobs")
    handles, _ = grid[0][0].get_legend_handles_labels()
    style.legend_below(figure, handles, 2)
    seeds = seeds_of(sweep)
    figure.suptitle(f"What malleability gains under the published policies   (bars: range of {seeds} seeds, holds {chance(seeds)} % of further ones)")
    return figure


if __name__ == "__main__":
    figures.main("fig_policy_grid", draw, measure, __doc__, notes)

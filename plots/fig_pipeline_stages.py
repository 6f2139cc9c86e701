#!/usr/bin/env python3
"""Where the time of align-sort goes: CPU time by stage, and the calls of each stage over time."""
import numpy as np

import claims
import figures
import style
from style import plt

WAIT = ["write", "publish"]  # For files, not for cores.
SHOWN_S = 1.0
COLORS = ["#56B4E9", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#D55E00", "#7a7a7a", "#B8A800"]
MOST_WAITS = 0.05  # Of its CPU time: beyond, whose waits they were matters.
WINDOW = (0.1, 0.9)  # Of the time from the first answer to the last: without begin and end.


def run_of(sweep, open_requests):
    for point in sweep.points:
        if int(point.values["workload.0.open"]) == open_requests:
            return point.run
    raise claims.NotHere(f"there is no run with {open_requests} open")


def window(cell):
    finished = cell.table("requests")["finished"]
    first, last = finished.min(), finished.max()
    return first + WINDOW[0] * (last - first), first + WINDOW[1] * (last - first)


def between(table, column, times):
    """What a counter grew by, a second, between the samples that are nearest to these times."""
    rows = table.sort_values("time")
    first, last = (rows.iloc[(rows["time"] - time).abs().argmin()] for time in times)
    if last["time"] <= first["time"]:
        raise claims.NotHere("the run was too short for two samples")
    return (last[column] - first[column]) / (last["time"] - first["time"])


def busy(cell):
    """Busy cores by stage, in the stages' order."""
    table = cell.table("stages")
    return {stage: between(rows, "busy_s", window(cell)) for stage, rows in table.groupby("stage", sort=False)}


def computing(cell):
    return {stage: cores for stage, cores in busy(cell).items() if stage not in WAIT}


def processor_time(cell):
    """Cores that all threads of the process were on, or waited for behind others, but for looking for work: as long a call lasts."""
    samples = cell.table("samples")
    spins = between(samples, "spin_time_s", window(cell)) if samples["spin_time_s"].notna().any() else 0
    waits = between(samples, "run_queue_wait_s", window(cell)) if samples["run_queue_wait_s"].notna().any() else 0
    ran = between(samples, "run_time_s", window(cell))
    if waits > MOST_WAITS * ran:
        raise claims.NotHere(f"the process waited {100 * waits / ran:.0f} % of its CPU time for a core, behind other programs: "
                             "a quiet machine would decide")
    return ran + waits - spins


def measure(sweep):
    def of(open_requests, value):
        return lambda: claims.median(value(cell) for cell in run_of(sweep, open_requests).cells)

    def against_next(cell):
        others = [cores for stage, cores in computing(cell).items() if stage != "align"]
        return computing(cell)["align"] / max(others)

    def share(cell):
        return 100 * computing(cell)["align"] / sum(computing(cell).values())

    def told(cell):
        return 100 * sum(computing(cell).values()) / processor_time(cell)

    return {
        "costliest": of(3, against_next),
        "share": of(3, share),
        "told": of(3, told),
        "told_one": of(1, told),
    }


def draw_shares(axes, sweep):
    opens = sorted(int(point.values["workload.0.open"]) for point in sweep.points)
    stages = list(busy(run_of(sweep, opens[0]).cells[0]))
    for shift, open_requests in zip(np.linspace(-0.2, 0.2, len(opens)), opens):
        cells = run_of(sweep, open_requests).cells
        shares = [[busy(cell)[stage] for stage in stages] for cell in cells]
        axes.barh(np.arange(len(stages)) + shift, np.median(shares, axis=0), height=0.36, label=f"{open_requests} open",
                  color=COLORS[0] if shift < 0 else COLORS[1])
    axes.set_yticks(range(len(stages)), [f"{stage} (waits)" if stage in WAIT else stage for stage in stages])
    axes.invert_yaxis()
    axes.set_xlabel("busy cores, median of trials")
    axes.legend(loc="lower right", frameon=True, edgecolor="none")
    axes.set_title("busy share of each stage", loc="left")


def draw_calls(axes, sweep, open_requests):
    cell = run_of(sweep, open_requests).cells[0]
    table = cell.table("stages")
    begin = window(cell)[0]
    shown = table[(table["time"] >= begin) & (table["time"] <= begin + SHOWN_S)]
    calls = shown.pivot(index="time", columns="stage", values="running")[list(dict.fromkeys(table["stage"]))]
    axes.stackplot(calls.index - begin, calls.to_numpy().T, step="post", labels=calls.columns, colors=COLORS, linewidth=0)
    axes.set_xlim(0, calls.index.max() - begin)
    axes.set_ylim(0, calls.sum(axis=1).max() + 0.5)
    axes.yaxis.set_major_locator(plt.MaxNLocator(integer=True))
    axes.set_xlabel("time [s]")
    axes.set_title(f"calls at work, {open_requests} open, first trial", loc="left")


def draw(sweep, _expected):
    opens = sorted(int(point.values["workload.0.open"]) for point in sweep.points)
    figure, axes = plt.subplots(1, 1 + len(opens), figsize=(4.6 * (1 + len(opens)), 3.8))
    draw_shares(axes[0], sweep)
    for place, open_requests in enumerate(opens):
        draw_calls(axes[1 + place], sweep, open_requests)
    style.legend_below(figure, axes[1].get_legend_handles_labels()[0], 8)
    return figure


if __name__ == "__main__":
    figures.main("fig_pipeline_stages", draw, measure, __doc__)

#!/usr/bin/env python3
"""Jobs over time without control and under strict control, and the ratios of throughput and execution time."""
import numpy as np

import claims
import figures
import style
from style import plt

RATIOS = [("throughput", "throughput_jobs_per_hour"), ("execution", "mean_execution_s")]


def ratios(run, metric):
    """no-control / strict, by trial."""
    table = run.summary().pivot(index="trial", columns="policy", values=metric)
    if "no-control" not in table or "strict" not in table:
        raise claims.NotHere("the records lack one of the policies")
    return (table["no-control"] / table["strict"]).dropna().to_numpy()


def run_of(sweep, jobs):
    for point in sweep.points:
        if point.values["trace.jobs"] == jobs:
            return point.run
    raise claims.NotHere(f"there is no run of {jobs} jobs")


def measure(sweep):
    def ratio(jobs, metric):
        return claims.median(ratios(run_of(sweep, jobs), metric))

    columns = dict(RATIOS)
    return {
        "throughput_16": lambda: ratio(16, columns["throughput"]),
        "throughput_16_close": lambda: ratio(16, columns["throughput"]),
        "execution_16": lambda: ratio(16, columns["execution"]),
        "throughput_128": lambda: ratio(128, columns["throughput"]),
        "throughput_128_close": lambda: ratio(128, columns["throughput"]),
        "execution_128": lambda: ratio(128, columns["execution"]),
    }


def draw_jobs(axes, run, policy):
    """A line a job from its submission to its end: grey while it waits, coloured while it runs."""
    jobs = run.first_cell(policy, "rigid").table("jobs").sort_values("submission_time")
    rows = np.arange(len(jobs))
    axes.hlines(rows, jobs["submission_time"], jobs["starting_time"], color=style.WAITING, linewidth=3)
    axes.hlines(rows, jobs["starting_time"], jobs["finish_time"], color=style.policy_color(policy, run.policies), linewidth=3)
    axes.set_title(f"{policy}: {jobs['finish_time'].max():.0f} s", loc="left")
    axes.set_xlabel("time [s]   (grey: waits)")
    axes.invert_yaxis()


def draw_ratios(axes, sweep, expected):
    ticks = []
    for point in sorted(sweep.points, key=lambda p: p.values["trace.jobs"]):
        for name, metric in RATIOS:
            values = ratios(point.run, metric)
            axes.plot([len(ticks)] * len(values), values, "o", color="#0072B2", markersize=3, alpha=0.6)
            axes.plot(len(ticks), expected["published"][str(point.values["trace.jobs"])][name], "x", color=style.EXCESS, markersize=7)
            ticks.append(f"{name}\n{point.values['trace.jobs']} jobs")
    axes.set_yscale("log")
    axes.set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    axes.minorticks_off()
    axes.axhline(1, color="#888888", linewidth=0.8)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.margins(x=0.15)
    axes.set_title("no control / strict   (x: published)", loc="left")


def draw(sweep, expected):
    run = min(sweep.points, key=lambda p: p.values["trace.jobs"]).run
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), width_ratios=[1, 1, 1.1])
    left, middle, right = axes
    draw_jobs(left, run, "no-control")
    draw_jobs(middle, run, "strict")
    end = max(left.get_xlim()[1], middle.get_xlim()[1])
    left.set_xlim(0, end)
    middle.set_xlim(0, end)
    left.set_ylabel("job")
    draw_ratios(right, sweep, expected)
    figure.suptitle("8 threads a job on 16 cores: all at once, or two at a time")
    return figure


if __name__ == "__main__":
    figures.main("fig_control", draw, measure, __doc__)

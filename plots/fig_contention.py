#!/usr/bin/env python3
"""Time of a tenant against its threads, a line a number of tenants; ours and the published, each relative to its 1-thread time."""
import numpy as np

import claims
import figures
import style
from style import plt

JOBS, THREADS = "trace.jobs", "workload.resnet20.threads"


def trials_of(sweep, jobs):
    """By trial: threads -> the total step time of each of the tenants, in ms."""
    trials = {}
    for threads in sweep.values(THREADS):
        for cell in sweep.cells(jobs=jobs, threads=threads):
            totals = cell.steady_steps().groupby("job_id")["duration_ms"].sum().to_numpy()
            trials.setdefault(cell.trial, {})[threads] = totals
    return {number: trial for number, trial in trials.items() if len(trial) == len(sweep.values(THREADS))}


def mean_times(trials):
    """Of a tenant, by threads: the median over trials of the mean over tenants."""
    trials = list(trials.values())
    return {threads: np.median([mean_time(trial, threads) for trial in trials]) for threads in trials[0]}


def mean_time(trial, threads):
    """Over the tenants of one trial."""
    return np.mean(trial[threads])


def best(trial):
    return min(trial, key=lambda threads: mean_time(trial, threads))


def best_falls(sweep):
    """The best number of threads for one tenant / for the most tenants, in each trial that both have: trials were interleaved."""
    few, many = (trials_of(sweep, jobs) for jobs in (sweep.values(JOBS)[0], sweep.values(JOBS)[-1]))
    return claims.median(best(few[trial]) / best(many[trial]) for trial in few.keys() & many.keys())


def crowded_penalty(sweep):
    most = sweep.values(THREADS)[-1]
    return claims.median(mean_time(trial, most) / mean_time(trial, 1) for trial in trials_of(sweep, sweep.values(JOBS)[-1]).values())


def measure(sweep):
    return {"best_falls": lambda: best_falls(sweep), "crowded_penalty": lambda: crowded_penalty(sweep)}


def draw_lines(axes, lines, title):
    colors = plt.get_cmap("viridis")(np.linspace(0.05, 0.85, len(lines)))
    for color, (label, threads, times) in zip(colors, lines):
        relative = np.asarray(times) / times[0]
        axes.plot(threads, relative, "o-", color=color, markersize=3.5, linewidth=1.3, label=label)
        lowest = int(np.argmin(relative))
        axes.plot(threads[lowest], relative[lowest], "o", markersize=8, markerfacecolor="none", color=color)
    style.threads_axis(axes)
    axes.axhline(1, color="#888888", linewidth=0.8)
    axes.set_xlabel("threads per tenant")
    axes.set_title(title, loc="left")
    axes.legend(title="tenants", frameon=True, edgecolor="none")


def draw(sweep, expected):
    ours = []
    for jobs in sweep.values(JOBS):
        trials = trials_of(sweep, jobs)
        if trials:
            times = mean_times(trials)
            ours.append((str(jobs), list(times), list(times.values())))
    published = expected["published_times"]
    theirs = [(str(n), published["threads"], [row[i] for row in published["times_s"]])
              for i, n in enumerate(published["tenants"])]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), sharey=False)
    draw_lines(left, ours, f"here, {sweep.cores_here} cores")
    draw_lines(right, theirs, "published, more than 64 hardware threads")
    left.set_ylabel("time of a tenant / with 1 thread each")
    figure.suptitle("Tenants that start together   (ring: the best number of threads)")
    return figure


if __name__ == "__main__":
    figures.main("fig_contention", draw, measure, __doc__)

#!/usr/bin/env python3
"""Step time against intra-op threads, a panel a number of cores, by affinity and by quota, with the published times."""
import numpy as np

import claims
import figures
import style
from style import plt

CORES, THREADS, ACTUATOR = "workload.resnet20.cores.max", "workload.resnet20.threads", "machine.actuator"
COLORS = {"affinity": "#0072B2", "quota": "#D55E00"}
PUBLISHED = "#7a7a7a"
MOST = 64  # Threads of the published slowdown.


def trials_of(sweep, cores, actuator):
    """By trial: threads -> step times. Under a quota steps fall into and between throttled periods: take their mean."""
    trials = {}
    for threads in sweep.values(THREADS):
        for cell in sweep.cells(max=cores, threads=threads, actuator=actuator):
            trials.setdefault(cell.trial, {})[threads] = cell.steady_steps()["duration_ms"].to_numpy()
    return {number: trial for number, trial in trials.items() if len(trial) == len(sweep.values(THREADS))}


def means(trials):
    """By threads: the median over trials of the mean step."""
    return {threads: np.median([np.mean(trial[threads]) for trial in trials]) for threads in trials[0]}


def slowdown(trial):
    """Of one trial, as all below."""
    times = means([trial])
    return times[MOST] / min(times.values())


def excess(trial, cores):
    times = means([trial])
    if cores not in times:
        raise claims.NotHere(f"{cores} threads are not in the sweep")
    return times[MOST] / times[cores]


def best_threads(trial, cores):
    times = means([trial])
    return min(times, key=times.get) / cores


def needed(sweep, cores, actuator):
    trials = trials_of(sweep, cores, actuator)
    if not trials:
        raise claims.NotHere(sweep.why_left_out(actuator) or f"no trial on {cores} core{'s' * (cores > 1)} by {actuator}")
    if MOST not in sweep.values(THREADS):
        raise claims.NotHere(f"{MOST} threads are not in the sweep")
    return trials


def smaller(sweep, cores):
    """In each trial that both have: trials were interleaved."""
    affinity, quota = needed(sweep, cores, "affinity"), needed(sweep, cores, "quota")
    return claims.median(slowdown(affinity[trial]) / slowdown(quota[trial]) for trial in affinity.keys() & quota.keys())


def measure(sweep):
    measures = {}
    for cores in (1, 2):
        measures[f"smaller_{cores}"] = lambda cores=cores: smaller(sweep, cores)
        for actuator in COLORS:
            def of_trials(of, cores=cores, actuator=actuator):
                return lambda: claims.median(of(trial) for trial in needed(sweep, cores, actuator).values())

            measures[f"best_{cores}_{actuator}"] = of_trials(lambda trial, cores=cores: best_threads(trial, cores))
            measures[f"excess_{cores}_{actuator}"] = of_trials(lambda trial, cores=cores: excess(trial, cores))
            measures[f"slowdown_{cores}_{actuator}"] = of_trials(slowdown)
    return measures


def draw_panel(axes, sweep, cores, published):
    for actuator, color in COLORS.items():
        trials = list(trials_of(sweep, cores, actuator).values())
        if not trials:
            continue
        times = means(trials)
        lowest = min(times.values())
        axes.plot(list(times), [t / lowest for t in times.values()], "-", color=color, linewidth=1.5,
                  label=f"here, {actuator} (best {lowest:.1f} ms a step)")
        for trial in trials:
            axes.plot(list(trial), [np.mean(v) / lowest for v in trial.values()], "o", color=color, markersize=3, alpha=0.6)
    if published:
        lowest = min(published["times_s"])
        axes.plot(published["threads"], [t / lowest for t in published["times_s"]], "s--", color=PUBLISHED, markersize=3,
                  linewidth=1.1, label=f"published, quota (best {lowest} s)")
    style.threads_axis(axes)
    axes.axhline(1, color="#888888", linewidth=0.8)
    axes.axvspan(cores, 2 * cores, color="#009E73", alpha=0.10, linewidth=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("intra-op threads")
    axes.set_title(f"{cores} core{'s' if cores > 1 else ''}", loc="left")
    axes.legend(loc="upper left", frameon=True, edgecolor="none")


def draw(sweep, expected):
    counts = sweep.values(CORES)
    figure, grid = plt.subplots(1, len(counts), figsize=(1.5 + 4 * len(counts), 3.8), squeeze=False, sharey=True)
    for axes, cores in zip(grid[0], counts):
        draw_panel(axes, sweep, cores, expected["published_times"].get(str(cores)))
    grid[0, 0].set_ylabel("time / the best")
    figure.suptitle("More threads than cores   (dots: trials; shaded: 1 to 2 threads a core)")
    return figure


if __name__ == "__main__":
    figures.main("fig_oversubscription", draw, measure, __doc__)

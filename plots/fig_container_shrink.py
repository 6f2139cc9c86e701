#!/usr/bin/env python3
"""Step time, runnable threads and throttling of a container that is shrunk from outside, with the client on, off and halving."""
import numpy as np

import claims
import figures
import style
from style import plt

CLIENT, TIMETABLE, ACTUATOR = "container.client", "policy.scripted.timetable", "machine.actuator"
COLORS = {"on": "#009E73", "halving": "#E69F00", "off": "#D55E00"}
STATIC = "#0072B2"
ACTUATORS = {"cpuset": "by cpuset", "quota": "by CPU quota"}
FEWEST_STEPS = 3  # After the shrink.


def cells(sweep, actuator, client, shrunk=True):
    """Of the container that is shrunk, or of the one that is small all the time."""
    return [cell for table in sweep.values(TIMETABLE) if (" " in table) == shrunk
            for cell in sweep.cells(actuator=actuator, client=client, timetable=table)]


def shrunk_at(cell):
    """When the cores were taken away; None if the tenant ended before."""
    grants = cell.table("grants")
    times = grants.loc[grants["kind"] == "granted", "time"].to_numpy()
    return times[1] if len(times) > 1 else None


def late_steps(cell):
    """Durations of the steps that lie wholly after the shrink; all of one that was never shrunk."""
    steps, at = cell.steady_steps(), shrunk_at(cell)
    begun = steps["time"] - steps["duration_ms"] / 1e3
    return steps.loc[begun >= (at or 0), "duration_ms"].to_numpy()


def late_samples(cell):
    """The samples after the shrink, of which the cores are those it has left, but for the last one: its threads are gone."""
    samples = cell.table("samples")
    return samples[samples["time"] > (shrunk_at(cell) or 0)].iloc[:-1]


def excess_seconds(cell):
    """How long after the shrink the tenant still had more threads awake than cores."""
    samples = late_samples(cell)
    over = samples.loc[samples["compute_threads"] > samples["granted"].min(), "time"]
    return [over.max() - shrunk_at(cell) if len(over) else 0.0]


def runnable_per_core(cell):
    samples = late_samples(cell)
    return (samples["runnable_threads"] / samples["granted"].min()).to_numpy()


def throttled_share(cell):
    """Throttled time / time since the shrink: one number a cell, from a counter."""
    samples = late_samples(cell).dropna(subset=["throttled_us"])
    if len(samples) < 2:
        raise claims.NotHere("throttled time is not recorded")
    return [np.ptp(samples["throttled_us"]) / 1e6 / np.ptp(samples["time"])]


def trials_of(sweep, actuator, sources):
    """A dict a trial of what `sources`, name -> (client, shrunk, function of a cell), give."""
    trials = {}
    for name, (client, shrunk, of) in sources.items():
        for cell in cells(sweep, actuator, client, shrunk):
            if not shrunk or shrunk_at(cell) is not None and len(late_steps(cell)) >= FEWEST_STEPS:
                trials.setdefault(cell.trial, {})[name] = of(cell)
    whole = [trial for trial in trials.values() if len(trial) == len(sources)]
    if not whole and actuator not in sweep.values(ACTUATOR):
        raise claims.NotHere(sweep.why_left_out(f"actuator={actuator}") or f"{actuator} is not in this sweep")
    if not whole:
        raise claims.NotHere(f"no trial by {actuator} has {FEWEST_STEPS} steps after the shrink: raise workload.resnet20.steps")
    return whole


def compare(sweep, actuator, a, b, combine, statistic):
    trials = trials_of(sweep, actuator, {"a": a, "b": b})
    return claims.median(combine(statistic(t["a"]), statistic(t["b"])) for t in trials)


def measure(sweep):
    measures = {}
    for actuator in ACTUATORS:
        def of(a, b, function, combine, statistic=np.mean, actuator=actuator):
            return lambda: compare(sweep, actuator, (*a, function), (*b, function), combine, statistic)

        def ratio(x, y):
            return x / y

        on, off, halving, static = ("on", True), ("off", True), ("halving", True), ("on", False)
        measures[f"on_{actuator}"] = of(on, static, late_steps, ratio)
        measures[f"off_{actuator}"] = of(off, on, late_steps, ratio)
        measures[f"late_{actuator}"] = of(halving, on, excess_seconds, lambda x, y: x - y)
        measures[f"runnable_{actuator}"] = lambda actuator=actuator: claims.median(
            np.mean(t["off"]) for t in trials_of(sweep, actuator, {"off": ("off", True, runnable_per_core)}))
        measures[f"throttled_{actuator}"] = of(off, on, throttled_share, lambda x, y: x - y)
    return measures


def throttled_rate(samples):
    """Throttled milliseconds a second between samples, smoothed over the quota's periods."""
    rate = samples["throttled_us"].diff() / 1e3 / samples["time"].diff()
    return rate.rolling(6, min_periods=1).mean()


def draw_column(grid, sweep, actuator):
    step_axes, thread_axes, throttle_axes = grid
    static = [late_steps(cell) for cell in cells(sweep, actuator, "on", shrunk=False)]
    if static:
        step_axes.axhline(np.median(np.concatenate(static)), color=STATIC, linewidth=1.2, linestyle=(0, (5, 2)),
                          label="static, small all the time")
    top = 0
    for client, color in COLORS.items():
        for number, cell in enumerate(cells(sweep, actuator, client)):
            at, steps, samples = shrunk_at(cell) or 0, cell.steady_steps(), cell.table("samples").iloc[:-1]
            faint = 0.9 if number == 0 else 0.25
            step_axes.plot(steps["time"] - at, steps["duration_ms"], "o", markersize=2.5, color=color, alpha=faint,
                           label=f"client {client}" if number == 0 else None)
            top = max(top, steps["duration_ms"].quantile(0.97))
            if number > 0:
                continue
            thread_axes.step(samples["time"] - at, samples["compute_threads"], where="post", color=color, linewidth=1.4)
            if samples["throttled_us"].notna().any():
                throttle_axes.plot(samples["time"] - at, throttled_rate(samples), color=color, linewidth=1.2)
    step_axes.set_ylim(0, 1.25 * top or 1)
    throttle_axes.set_ylim(bottom=0)
    for axes in grid:
        axes.axvline(0, color="#888888", linewidth=0.9)
    thread_axes.yaxis.set_major_locator(plt.MaxNLocator(integer=True, nbins=5))
    thread_axes.set_ylim(bottom=0)
    step_axes.set_title(ACTUATORS[actuator], loc="left")
    throttle_axes.set_xlabel("time since the shrink [s]")


def draw(sweep, expected):
    actuators = [actuator for actuator in ACTUATORS if actuator in sweep.values(ACTUATOR)]
    figure, grid = plt.subplots(3, len(actuators), figsize=(1.5 + 4.2 * len(actuators), 6), sharex="col", squeeze=False,
                                height_ratios=[3, 1.2, 1.2])
    for column, actuator in enumerate(actuators):
        draw_column(grid[:, column], sweep, actuator)
    for axes, label in zip(grid[:, 0], ("step time [ms]", "threads awake", "throttled [ms/s]")):
        axes.set_ylabel(label)
    style.legend_below(figure, grid[0, 0].get_legend_handles_labels()[0], 4)
    figure.suptitle(f"A container shrunk from {sweep.cores_here} cores to 1   (dots: steps, the first trial darker)")
    return figure


if __name__ == "__main__":
    figures.main("fig_container_shrink", draw, measure, __doc__)

#!/usr/bin/env python3
"""The simulator's own speed, from bench_simulator: whole runs, one event, and its core beside SimGrid's."""
import numpy as np

import claims
import figures
import style
from benchmarks import Benchmarks, chosen
from style import plt


def measure(benchmarks):
    def whole(policy):
        return lambda: claims.median(chosen(benchmarks.series("whole_path", policy), 1_000_000, "a million jobs"))

    def memory(policy):
        return lambda: claims.median(chosen(benchmarks.counter("whole_path", policy, counter="peak_MB"), 1_000_000, "a million jobs"))

    def ratio(in_flight):
        def value():
            ours = chosen(benchmarks.rates("executions"), in_flight, "our own core")
            theirs = benchmarks.rates("sg_executions").get(in_flight)
            if not theirs:
                raise claims.NotHere("SimGrid is not installed: apt-get install --no-install-recommends libsimgrid-dev, and build again")
            return claims.independent_ratio(ours, theirs)

        return value

    def growth():
        events = benchmarks.series("event")
        small, large = chosen(events, 100, "100 in flight"), chosen(events, 100_000, "100,000 in flight")
        return claims.independent_ratio(large, small)

    return {
        "strict": whole("strict"),
        "equal_share": whole("equal-share"),
        "memory": memory("equal-share"),
        "growth": growth,
        "simgrid_64": ratio(64),
        "simgrid_1024": ratio(1024),
    }


def draw_series(axes, series, label, color, marker="o"):
    if series:
        axes.plot(list(series), [np.median(values) for values in series.values()], marker=marker, markersize=4, color=color, label=label)


def draw(benchmarks, _expected):
    figure, (whole, event, core) = plt.subplots(1, 3, figsize=(11, 3.8))
    policies = benchmarks.second_parts("whole_path")
    for policy in policies:
        draw_series(whole, benchmarks.series("whole_path", policy), policy, style.policy_color(policy, policies))
    whole.set(title="a whole run, 64 cores", xlabel="jobs", ylabel="seconds")
    draw_series(event, {n: np.multiply(v, 1e6) for n, v in benchmarks.series("event").items()}, "waiting jobs, 64 cores", "#0072B2")
    draw_series(event, {n: np.multiply(v, 1e6) for n, v in benchmarks.series("event_running").items()}, "running jobs, a core each", "#D55E00", "s")
    event.set(title="one event (strict)", xlabel="jobs in flight", ylabel="microseconds")
    draw_series(core, benchmarks.rates("executions"), "cosched", "#0072B2")
    draw_series(core, benchmarks.rates("sg_executions"), "SimGrid", "#7a7a7a", "s")
    core.set(title="executions on shared cores", xlabel="executions in flight", ylabel="completions per second")
    for axes in (whole, event, core):
        axes.set_xscale("log")
        style.whole_decades(axes)
        axes.legend()
    figure.suptitle("The simulator's own speed")
    return figure


if __name__ == "__main__":
    figures.main("fig_scale", draw, measure, __doc__, load=Benchmarks)

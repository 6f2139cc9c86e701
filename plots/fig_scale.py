#!/usr/bin/env python3
"""The simulator's own speed, from bench_simulator: whole runs, one event, and its core beside SimGrid's."""
import json
from pathlib import Path

import numpy as np

import claims
import figures
import style
from load import LoadError
from style import plt

NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


class Benchmarks:
    """benchmark.json of Google Benchmark: for each benchmark its repetitions."""

    def __init__(self, path):
        self.path = Path(path)
        try:
            found = json.loads((self.path / "benchmark.json").read_text())
        except (OSError, ValueError) as error:
            raise LoadError(f"{path}: not a run of benchmarks: {error}") from error
        self.cores_here = found["context"]["num_cpus"]
        self.lost = []
        self.rows = {}
        for row in found["benchmarks"]:
            if row["run_type"] == "iteration" and not row.get("error_occurred"):
                self.rows.setdefault(tuple(row["run_name"].split("/")), []).append(row)
        if not self.rows:
            raise LoadError(f"{path}: benchmark.json holds no benchmark that ended well")

    def marked(self):
        return 0, len(self.rows)

    def series(self, *name):
        """{argument: one value a repetition}, seconds; name: the parts of the benchmark's name before its argument."""
        found = {}
        for parts, rows in self.rows.items():
            if parts[:len(name)] == name and parts[len(name)].isdigit():
                found[int(parts[len(name)])] = [row["real_time"] * NANOSECONDS[row["time_unit"]] * 1e-9 for row in rows]
        return dict(sorted(found.items()))

    def rates(self, name):
        """{argument: items a second, one a repetition}."""
        found = {int(parts[1]): [row["items_per_second"] for row in rows] for parts, rows in self.rows.items() if parts[0] == name}
        return dict(sorted(found.items()))

    def peak(self, policy, jobs):
        return [row["peak_MB"] for parts, rows in self.rows.items() if parts[:3] == ("whole_path", policy, str(jobs)) for row in rows]

    def policies(self):
        return list(dict.fromkeys(parts[1] for parts in self.rows if parts[0] == "whole_path"))


def chosen(values, key, what):
    if not values.get(key):
        raise claims.NotHere(f"{what} was not measured")
    return values[key]


def measure(benchmarks):
    def whole(policy):
        return lambda: claims.median(chosen(benchmarks.series("whole_path", policy), 1_000_000, "a million jobs"))

    def memory(policy):
        return lambda: claims.median(chosen({0: benchmarks.peak(policy, 1_000_000)}, 0, "a million jobs"))

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
    policies = benchmarks.policies()
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
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.set_ylim(10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(high)))
        axes.minorticks_off()
        axes.legend()
    figure.suptitle("The simulator's own speed")
    return figure


if __name__ == "__main__":
    figures.main("fig_scale", draw, measure, __doc__, load=Benchmarks)

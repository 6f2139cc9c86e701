#!/usr/bin/env python3
"""Requests simulated a second of wall time by the size of the machine, and what a dispatch's choice and a controller's decision cost."""
import numpy as np

import claims
import figures
import style
from benchmarks import Benchmarks, chosen
from style import plt

NODES = (6, 64)
SERVICES, INSTANCES = 64, 4096
COLORS = ["#0072B2", "#D55E00", "#009E73"]


def measure(benchmarks):
    def rate(family, nodes):
        return lambda: claims.median(chosen(benchmarks.rates(family), nodes, f"a machine of {nodes} nodes"))

    def slowest(family, counter, argument, unit):
        """Of all dispatches or controllers: the largest of the medians over repetitions."""
        def value():
            found = [benchmarks.counter(family, name, counter=counter) for name in benchmarks.second_parts(family)]
            estimates = [claims.median(chosen(one, argument, f"{family} of {argument}")) for one in found]
            if not estimates:
                raise claims.NotHere(f"{family} was not measured")
            return max(estimates).scaled(lambda measured: measured * unit)

        return value

    return {
        **{f"requests_{nodes}": rate("requests", nodes) for nodes in NODES},
        **{f"recorded_{nodes}": rate("recorded", nodes) for nodes in NODES},
        "choice": slowest("choice", "p99_ns", SERVICES, 1e-3),
        "tick": slowest("tick", "p99_us", INSTANCES, 1e-3),
    }


def notes(benchmarks, expected):
    """Of each dispatch and controller its own median of p99."""
    lines = []
    for family, counter, argument in (("choice", "p99_ns", SERVICES), ("tick", "p99_us", INSTANCES)):
        values = []
        for name in benchmarks.second_parts(family):
            found = benchmarks.counter(family, name, counter=counter).get(argument)
            if found:
                values.append(f"{name} {np.median(found):.0f}")
        if values:
            lines.append(f"{family} among {argument}, {counter.replace('_', ' [')}]: {', '.join(values)}")
    return lines


def draw_series(axes, series, label, color, marker="o", line="-"):
    if series:
        axes.plot(list(series), [np.median(values) for values in series.values()], marker=marker, markersize=4, color=color,
                  linestyle=line, label=label)


def in_microseconds(series):
    return {argument: np.multiply(values, 1e-3) for argument, values in series.items()}


def draw_choices(axes, benchmarks):
    """The peer, and the dispatches from the fastest to the slowest as a band."""
    found = [in_microseconds(benchmarks.counter("choice", name, counter="p99_ns")) for name in benchmarks.second_parts("choice")]
    medians = [{argument: np.median(values) for argument, values in one.items()} for one in found]
    arguments = sorted(set.intersection(*(set(one) for one in medians))) if medians else []
    low = [min(one[argument] for one in medians) for argument in arguments]
    high = [max(one[argument] for one in medians) for argument in arguments]
    axes.fill_between(arguments, low, high, color="#0072B2", alpha=0.25, linewidth=0)
    axes.plot(arguments, high, "o-", markersize=4, color="#0072B2", label="slowest of the dispatches")
    axes.plot(arguments, low, "o-", markersize=4, color="#56B4E9", label="fastest")
    draw_series(axes, in_microseconds(benchmarks.counter("look_and_max_element", counter="p99_ns")), "the longest queue, std::max_element",
                "#7a7a7a", "s")
    axes.axhline(5, color=style.EXCESS, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.set(title="a choice, with its looks: p99 [µs]", xlabel="services")


def draw(benchmarks, _expected):
    figure, (cells, choices, ticks) = plt.subplots(1, 3, figsize=(11, 3.8))
    draw_series(cells, benchmarks.rates("requests"), "nothing recorded", COLORS[0])
    draw_series(cells, benchmarks.rates("recorded"), "drawn, recorded, summarized", COLORS[1], "s")
    cells.axhline(1e6, color=style.EXCESS, linewidth=0.8, linestyle=(0, (4, 2)))
    cells.set(title="requests a second of wall time", xlabel="nodes (beside 4 to 32 modelled devices)")
    draw_choices(choices, benchmarks)
    for name, color in zip(benchmarks.second_parts("tick"), COLORS):
        draw_series(ticks, in_microseconds(benchmarks.counter("tick", name, counter="p99_us")), name, color)
    ticks.axhline(1, color=style.EXCESS, linewidth=0.8, linestyle=(0, (4, 2)))
    ticks.set(title="a controller's decision: p99 [ms]", xlabel="instances")
    for axes in (cells, choices, ticks):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        style.whole_decades(axes)
        axes.legend()
    figure.suptitle("The speed of simulated services; dashed: the targets")
    return figure


if __name__ == "__main__":
    figures.main("fig_roma_scale", draw, measure, __doc__, notes=notes, load=Benchmarks)

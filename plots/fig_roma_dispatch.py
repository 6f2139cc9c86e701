#!/usr/bin/env python3
"""Violated windows of the worst service and late requests of all, by dispatch, requests in flight at the modelled device, and load."""
import numpy as np

import claims
import figures
import style
from style import plt

DISPATCHES = {"rr": "by turn", "random": "at random", "lq": "longest queue", "h1": "H1", "weighted": "weighted turns",
              "edf": "earliest deadline", "slack": "least slack", "clockwork": "clockwork", "shortest": "shortest first"}
IN_FLIGHT = "services.in_flight"
LOADS = [0.7, 0.9, 1.1]
FEW, MOST = [1, 2], 64
COLORS = dict(zip(DISPATCHES, [*style.OTHER_COLORS, "#E69F00"]))
CAPACITY = {1: 1 / 0.127, 2: 2 / 0.127, 8: 1 / 0.018, 64: 1 / 0.018}  # Requests a second; the experiment says why.


def load_of(point):
    """Of the device's capacity with so many in flight."""
    rate = sum(value for key, value in point.values.items() if key.endswith(".rate"))
    return round(rate / CAPACITY[point.values[IN_FLIGHT]], 1)


def points(sweep, in_flight, load=None):
    found = [point for point in sweep.points if point.values[IN_FLIGHT] in in_flight and load in (None, load_of(point))]
    if not found:
        raise claims.NotHere(f"there is no run with {in_flight} in flight")
    return found


def rows(point, policy):
    table = point.run.services()
    table = table[table["policy"] == policy]
    if table.empty:
        raise claims.NotHere(f"the records lack {policy}")
    return table


def worst_violated(point, policy):
    """Percent of the windows of the service that has most of them, by trial."""
    table = rows(point, policy)
    return (100 * table["violated"] / table["windows"]).groupby(table["trial"]).max()


def violated(point, policy):
    """Percent of the windows of all services, by trial."""
    table = rows(point, policy).groupby("trial")[["violated", "windows"]].sum()
    return 100 * table["violated"] / table["windows"]


def late(point, policy):
    """Percent of all requests, by trial."""
    table = rows(point, policy)
    met = (table["slo_attainment"] * table["requests"]).groupby(table["trial"]).sum()
    return 100 * (1 - met / table.groupby("trial")["requests"].sum())


def difference(sweep, of, one, other):
    """In points, by trial: the mean over all loads where the device has few in flight."""
    found = points(sweep, FEW)
    return claims.median((sum(of(point, one) - of(point, other) for point in found) / len(found)).dropna())


def spread(sweep, load):
    """Worst of all dispatches less the best, in points, by trial, where the device has most in flight."""
    [point] = points(sweep, [MOST], load)
    values = np.array([violated(point, policy).to_numpy() for policy in DISPATCHES])
    return claims.median(values.max(axis=0) - values.min(axis=0))


def measure(sweep):
    return {
        **{f"agree_{load}": lambda load=load: spread(sweep, load) for load in LOADS},
        **{f"h1_{other}": lambda other=other: difference(sweep, worst_violated, "h1", other) for other in ("lq", "rr", "random")},
        **{f"{one}_late": lambda one=one: difference(sweep, late, one, "h1") for one in ("edf", "slack")},
        **{f"{one}_means": lambda one=one: difference(sweep, violated, one, "h1") for one in ("edf", "slack")},
    }


def notes(sweep, expected):
    lines = ["violated windows of the worst service / late requests, % (medians):"]
    for point in sweep.points:
        values = ", ".join(f"{policy} {np.median(worst_violated(point, policy)):.0f}/{np.median(late(point, policy)):.0f}"
                           for policy in DISPATCHES)
        lines.append(f"  {point.values[IN_FLIGHT]:>2} in flight, load {load_of(point)}: {values}")
    return lines


def draw_panel(axes, sweep, load, of):
    """A group for each number in flight, in it a dot a dispatch; its bar reaches from the lower to the upper quartile of the trials."""
    handles = []
    found = sorted(points(sweep, CAPACITY, load), key=lambda point: point.values[IN_FLIGHT])
    for place, policy in enumerate(DISPATCHES):
        at = np.arange(len(found)) + (place - (len(DISPATCHES) - 1) / 2) * 0.085
        low, middle, high = np.array([np.percentile(of(point, policy), [25, 50, 75]) for point in found]).T
        axes.vlines(at, low, high, color=COLORS[policy], linewidth=1)
        handles += axes.plot(at, middle, "D" if policy == "h1" else "o", color=COLORS[policy], markersize=4,
                             label=DISPATCHES[policy])
    axes.set_xticks(range(len(found)), [point.values[IN_FLIGHT] for point in found])
    axes.set_ylim(-3, 103)
    axes.grid(axis="x", visible=False)
    return handles


def draw(sweep, expected):
    figure, axes = plt.subplots(2, len(LOADS), figsize=(11, 6), sharex=True, sharey=True)
    for column, load in enumerate(LOADS):
        handles = draw_panel(axes[0][column], sweep, load, worst_violated)
        draw_panel(axes[1][column], sweep, load, late)
        axes[0][column].set_title(f"load {load} of capacity", loc="left")
        axes[1][column].set_xlabel("requests in flight at the device")
    axes[0][0].set_ylabel("windows above the objective,\nworst service [%]")
    axes[1][0].set_ylabel("late requests [%]")
    figure.suptitle("the order of requests before a modelled device (its figures are derived from published traces)")
    style.legend_below(figure, handles, len(handles))
    return figure


if __name__ == "__main__":
    figures.main("fig_roma_dispatch", draw, measure, __doc__, notes=notes)

#!/usr/bin/env python3
"""Cores over time on this machine under ROMA's controller, with its published gains and with gains scaled to a fast model."""
import numpy as np

import claims
import figures
import style
from style import plt

REST = 10.0  # Seconds; at rest: the last ones before the step, and before the end of the load, but half of those before the step at most.
POLICIES = {"roma-published": ("gains as published", "#D55E00"), "roma-scaled": ("gains scaled to the model", "#0072B2")}


def step_of(cell):
    """When its objective changes."""
    return float(cell.table("objectives")["time"].max())


def end_of(cell):
    """A second before the last request, in whole seconds."""
    return float(np.floor(cell.table("requests")["scheduled"].max() - 1))


def amounts(cell):
    """Times and amounts, each from its time on; at the end of the load once more."""
    end, grants = end_of(cell), cell.table("grants")
    grants = grants[(grants["kind"] == "granted") & (grants["time"] < end)]
    if grants.empty:
        raise claims.NotHere(f"{cell.policy} was granted nothing")
    times, cores = grants["time"].to_numpy(float), grants["amount"].to_numpy(float)
    return np.append(times, end), np.append(cores, cores[-1:])


def swing(cell):
    """Largest less smallest amount at rest over their mean, the larger one of before and after the step."""
    times, cores = amounts(cell)
    swings, step = [], step_of(cell)
    rest_s = min(REST, step / 2)
    for end in (step, end_of(cell)):
        begins, ends = np.clip(times[:-1], end - rest_s, end), np.clip(times[1:], end - rest_s, end)
        kept = ends > begins
        rest, lengths = cores[:-1][kept], (ends - begins)[kept]
        swings.append((rest.max() - rest.min()) / np.average(rest, weights=lengths))
    return max(swings)


def cells(sweep, policy):
    found = [cell for cell in sweep.points[0].run.cells if cell.policy == policy]
    if not found:
        raise claims.NotHere(f"the records lack {policy}")
    return found


def measure(sweep):
    return {
        "published": lambda: claims.median([swing(cell) for cell in cells(sweep, "roma-published")]),
        "scaled": lambda: claims.median([swing(cell) for cell in cells(sweep, "roma-scaled")]),
    }


def draw(sweep, expected):
    figure, axes = plt.subplots(2, 1, figsize=(8, 4.6), sharex=True)
    for policy, (label, color) in POLICIES.items():
        cell = cells(sweep, policy)[0]
        axes[0].step(*amounts(cell), where="post", label=label, color=color, linewidth=1.2)
        requests = cell.table("requests")
        axes[1].plot(requests["finished"], 1e3 * (requests["finished"] - requests["scheduled"]), "o", markersize=3, color=color)
    scaled = cells(sweep, "roma-scaled")[0]
    objectives, end = scaled.table("objectives"), end_of(scaled)
    times = np.append(objectives["time"].to_numpy(float), end)
    limits = objectives["sla_ms"].to_numpy(float)
    axes[1].step(times, np.append(limits, limits[-1:]), where="post", color=style.INK, linewidth=0.8, linestyle=(0, (4, 2)), label="objective")
    axes[0].set_ylabel("cores")
    axes[1].set_ylabel("response [ms]")
    axes[1].set_xlabel("time [s]")
    axes[1].set_yscale("log")
    axes[0].set_xlim(0, end)
    axes[0].set_ylim(0, 1.05)
    handles = axes[0].get_legend_handles_labels()[0] + axes[1].get_legend_handles_labels()[0]
    style.legend_below(figure, handles, 3)
    return figure


if __name__ == "__main__":
    figures.main("fig_roma_gains", draw, measure, __doc__)

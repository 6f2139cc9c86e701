#!/usr/bin/env python3
"""A sweep: medians of the main metrics along the key with most values, a line a policy and kind of tenants, a column for each value of
the other keys; and what malleable tenants change on the same traces."""
import argparse
import itertools
import sys
from pathlib import Path

import numpy as np

import claims
import drawn
import gains
import policy_comparison
import style
from load import LoadError, Sweep
from style import plt

LINES = {"rigid": (0, (4, 2)), "moldable": (0, (1, 1)), "malleable": "-"}
MARKERS = {"rigid": "s", "moldable": "^", "malleable": "o"}
MOST_COLUMNS = 4
METRICS = ("makespan_s", "mean_turnaround_s", "core_utilization", "mean_latency_ms", "p99_latency_ms", "slo_attainment")


def keys_of(sweep):
    """The swept key with most values, and the others."""
    keys = list(dict.fromkeys(key for point in sweep.points for key in point.values))
    if not keys:
        raise LoadError(f"{sweep.path}: is no sweep")
    along = max(keys, key=lambda key: len(values_of(sweep, key)))
    return along, [key for key in keys if key != along]


def values_of(sweep, key):
    """In order: numbers by size, names as the experiment has them."""
    found = list(dict.fromkeys(point.values[key] for point in sweep.points if key in point.values))
    return sorted(found) if all(isinstance(value, (int, float)) for value in found) else found


def columns_of(sweep, others):
    """(values of the other keys, their points) of each column."""
    columns = {}
    for point in sweep.points:
        columns.setdefault(tuple(point.values.get(key) for key in others), []).append(point)
    return list(columns.items())


def summary_of(run):
    return policy_comparison.metrics_of(run, run.summary())[0]


def medians(points, along, places, policy, elasticity, column, factor):
    """(place, estimate) along the key, of the points that have this metric."""
    for point in points:
        table = summary_of(point.run)
        if column not in table:
            continue
        values = table[(table["policy"] == policy) & (table["elasticity"] == elasticity)][column].dropna() * factor
        if len(values) > 0:
            yield places[point.values[along]], claims.median(values)


def changes(points, along, places, policy):
    """(place, estimate) of the turnaround of malleable tenants against rigid ones on the same traces, in percent."""
    for point in points:
        found = gains.gains(point.run, policy, gains.TURNAROUND, over="rigid")
        if found:
            yield places[point.values[along]], claims.median(found.values())


def draw_line(axes, estimates, color, elasticity, shift):
    """One policy; its intervals stand a little beside those of others. Returns whether there was anything."""
    estimates = sorted(estimates)
    if not estimates:
        return False
    at = np.array([place for place, _ in estimates]) + shift
    label = {"label": f"_{elasticity}"}
    axes.plot(at, [value.value for _, value in estimates], color=color, linestyle=LINES[elasticity], marker=MARKERS[elasticity],
              markersize=4, linewidth=1.3, **label)
    axes.vlines(at, [value.low for _, value in estimates], [value.high for _, value in estimates], color=color, linewidth=1, alpha=0.7, **label)
    return True


def place_ticks(axes, names, key):
    axes.set_xticks(range(len(names)), names, **style.turned(names, 9))
    axes.set_xlabel(key)


def title_of(others, values, hidden):
    title = ", ".join(f"{key.split('.')[-1]} = {value}" for key, value in zip(others, values))
    return title + f"{'; ' * bool(title)}{hidden} more not shown" * bool(hidden)


def draw(sweep):
    along, others = keys_of(sweep)
    names = values_of(sweep, along)
    places = {value: index for index, value in enumerate(names)}
    columns = columns_of(sweep, others)
    hidden, columns = max(0, len(columns) - MOST_COLUMNS), columns[:MOST_COLUMNS]
    policies = list(dict.fromkeys(policy for point in sweep.points for policy in point.run.policies))
    elasticities = [e for e in LINES if any(e in point.run.elasticities for point in sweep.points)]
    tables = [summary_of(point.run) for point in sweep.points]
    known = {name: (title, factor) for name, title, factor, _ in policy_comparison.METRICS + policy_comparison.OF_SERVICES}
    metrics = [name for name in METRICS if any(name in table and table[name].notna().any() and table[name].max() > 0 for table in tables)]
    gained = {"rigid", "malleable"} <= set(elasticities) and "mean_turnaround_s" in metrics
    rows = len(metrics) + gained
    figure, grid = plt.subplots(rows, len(columns), figsize=(max(6.0, 1.5 + 3.4 * len(columns)), 1.2 + 1.9 * rows), sharex=True,
                                sharey="row", squeeze=False)
    lines = list(itertools.product(policies, elasticities))
    for column, (values, points) in enumerate(columns):
        for row, metric in enumerate(metrics):
            axes = grid[row, column]
            for index, (policy, elasticity) in enumerate(lines):
                shift = 0.25 * (index / max(1, len(lines) - 1) - 0.5)
                draw_line(axes, medians(points, along, places, policy, elasticity, metric, known[metric][1]),
                          style.policy_color(policy, policies), elasticity, shift)
        for policy in policies if gained else []:
            draw_line(grid[-1, column], changes(points, along, places, policy), style.policy_color(policy, policies), "malleable", 0)
        grid[0, column].set_title(title_of(others, values, hidden if column == len(columns) - 1 else 0), loc="left")
        place_ticks(grid[-1, column], [str(name) for name in names], along)
    for row, metric in enumerate(metrics):
        grid[row, 0].set_ylabel(known[metric][0])
        grid[row, 0].set_ylim(bottom=0)  # Of all columns, once all is drawn.
    if gained:
        grid[-1, 0].set_ylabel("turnaround, malleable\nagainst rigid [%]")
        for axes in grid[-1]:
            axes.axhline(0, color="#888888", linewidth=0.8)
    finish(figure, sweep, policies, elasticities)
    return figure


def finish(figure, sweep, policies, elasticities):
    """Legend and title: which trials, and what is wrong with some."""
    handles = [plt.Line2D([], [], color=style.policy_color(policy, policies), label=policy) for policy in policies]
    handles += [plt.Line2D([], [], color=style.INK, linestyle=LINES[e], marker=MARKERS[e], markersize=4, label=f"{e} tenants") for e in elasticities]
    trials = max(len({cell.trial for cell in point.run.cells}) for point in sweep.points)
    if trials > 1:
        handles.append(plt.Line2D([], [], color=style.INK, linewidth=1, marker="|", linestyle="none", markersize=9,
                                  label=f"interval of the median, {claims.level_text(claims.median(range(trials)))}"))
    style.legend_below(figure, handles, min(len(handles), 4))
    marks = sweep.marks()
    doubts = [f"{sum(map(bool, marks))} of {len(marks)} cells are marked"] * any(marks)
    doubts += [f"{len(sweep.lost)} cells lost jobs and are left out"] * bool(sweep.lost)
    figure.suptitle("\n".join([f"{sweep.points[0].run.title}: median of {trials} trial{'s' * (trials != 1)}", *doubts]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", metavar="RUN", help="results/<experiment>/<run> of a sweep")
    run = Path(parser.parse_args().run)
    out = run / "plots" / "sweep"
    try:
        drawn.once(run, out, lambda: style.save(draw(Sweep(run)), out))
    except (LoadError, OSError) as error:
        sys.exit(f"sweep.py: {error}")


if __name__ == "__main__":
    main()

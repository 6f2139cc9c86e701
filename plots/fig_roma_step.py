#!/usr/bin/env python3
"""Cores over time under ROMA's controller as its objective, the load or the work of each request makes a step."""
import numpy as np

import claims
import figures
import style
from style import plt

STEP, END, REST = 120.0, 240.0, 40.0  # Seconds; at rest: the last ones before the step, and before the end.
PUBLISHED, SCALED = "roma-published", "roma-scaled"
CASES = {
    "sla": ("objective 600 to 350 ms", {"workload.0.sla_ms": 600, "trace.changes.0.sla_ms": 350}),
    "load": ("load 1 to 2 a second", {"trace.requests.0.phases.1.rate": 2}),
    "work": ("work 0.59 to 0.95 core s", {"trace.requests.0.phases.1.work": 10}),
    "fast": ("fast model, objective 71 to 42 ms", {"workload.0.sla_ms": 71}),
}


def run_of(sweep, case):
    wanted = CASES[case][1]
    for point in sweep.points:
        if all(point.values.get(key) == value for key, value in wanted.items()):
            return point.run
    raise claims.NotHere(f"there is no run of {CASES[case][0]}")


def amounts(cell):
    """Times and amounts, each from its time on; at the end once more."""
    grants = cell.table("grants")
    grants = grants[(grants["kind"] != "submitted") & (grants["time"] < END)]
    times, cores = grants["time"].to_numpy(float), grants["owned_amount"].to_numpy(float)
    return np.append(times, END), np.append(cores, cores[-1:])


def at_rest(cell, end):
    """Lengths and amounts of the pieces of the last seconds before `end`."""
    times, cores = amounts(cell)
    begins, ends = np.clip(times[:-1], end - REST, end), np.clip(times[1:], end - REST, end)
    kept = ends > begins
    return (ends - begins)[kept], cores[:-1][kept]


def cells(sweep, case, policy):
    found = [cell for cell in run_of(sweep, case).cells if cell.policy == policy]
    if not found:
        raise claims.NotHere(f"the records lack {policy}")
    return found


def mean_at_rest(cell, end):
    lengths, cores = at_rest(cell, end)
    return np.average(cores, weights=lengths)


def rise(sweep, case):
    return claims.median([mean_at_rest(cell, END) / mean_at_rest(cell, STEP) for cell in cells(sweep, case, PUBLISHED)])


def swing(sweep, case, policy):
    """Largest less smallest amount at rest, over their mean."""
    values = []
    for cell in cells(sweep, case, policy):
        _, cores = at_rest(cell, END)
        values.append((cores.max() - cores.min()) / mean_at_rest(cell, END))
    return claims.median(values)


def response(sweep):
    means = []
    for cell in cells(sweep, "sla", PUBLISHED):
        requests = cell.table("requests")
        requests = requests[requests["finished"].between(END - REST, END)]
        means.append(1e3 * (requests["finished"] - requests["scheduled"]).mean())
    return claims.median(means)


def measure(sweep):
    return {
        "sla": lambda: rise(sweep, "sla"),
        "load": lambda: rise(sweep, "load"),
        "work": lambda: rise(sweep, "work"),
        "rest": lambda: response(sweep),
        "swing_slow": lambda: swing(sweep, "sla", PUBLISHED),
        "swing_fast": lambda: swing(sweep, "fast", PUBLISHED),
        "swing_scaled": lambda: swing(sweep, "fast", SCALED),
    }


def draw(sweep, expected):
    figure, axes = plt.subplots(1, len(CASES), figsize=(13, 3.6))
    for axis, (case, (title, _)) in zip(axes, CASES.items()):
        run = run_of(sweep, case)
        handles = []
        for policy in (PUBLISHED, SCALED):
            times, cores = amounts(run.first_cell(policy, "malleable"))
            label = "gains as published" if policy == PUBLISHED else "gains scaled to the model"
            handles += axis.step(times, cores, where="post", label=label, linewidth=1,
                                 color="#D55E00" if policy == PUBLISHED else "#0072B2")
        axis.axvline(STEP, color=style.INK, linewidth=0.8, linestyle=(0, (4, 2)))
        axis.set_title(title, loc="left")
        axis.set_xlabel("time [s]")
        axis.set_xlim(0, END)
        axis.set_ylim(bottom=0)
    axes[0].set_ylabel("cores")
    style.legend_below(figure, handles, 2)
    return figure


if __name__ == "__main__":
    figures.main("fig_roma_step", draw, measure, __doc__)

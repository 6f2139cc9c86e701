#!/usr/bin/env python3
"""Training steps done beside services, against the services' windows above the objective: shares of cores against owned partitions."""
import numpy as np
import pandas as pd

import claims
import figures
import style
from service_costs import violated
from style import plt

END = 240.0  # Seconds; later no request is sent.
OWNED = "owned"
OWNED_KEYS = ("workload.googlenet.cores.preferred", "workload.skyline.cores.preferred")
SHARES = {  # Name, colour, marker.
    "shares": ("shares by ROMA's controller, gains as published", "#D55E00", "o"),
    "shares-scaled": ("… gains scaled to the models", "#E69F00", "o"),
    "shares-careful": ("… half the gains, aiming at half the objective", "#882255", "o"),
    "shares-curves": ("shares by speed curves", "#0072B2", "*"),
}


def run_of_shares(sweep):
    for point in sweep.points:
        if OWNED not in point.run.policies:
            return point.run
    raise claims.NotHere("there is no run of shares")


def partitions(sweep):
    """Runs by the cores that each of the services owns."""
    found = {tuple(point.values[key] for key in OWNED_KEYS): point.run for point in sweep.points if OWNED in point.run.policies}
    if not found:
        raise claims.NotHere("there is no run of owned partitions")
    return dict(sorted(found.items()))


def steps(run, policy):
    """Of all training jobs before the last request, by trial."""
    counts = {}
    for cell in run.cells:
        if cell.policy == policy:
            counts[cell.trial] = int((cell.table("steps")["time"] <= END).sum())
    if not counts:
        raise claims.NotHere(f"the records lack {policy}")
    return pd.Series(counts)


def at_equal_violations(sweep, policy):
    """Percent more steps than with the partition that does most of those with no more violated windows, by trial."""
    run = run_of_shares(sweep)
    ours, limit = steps(run, policy), violated(run, policy)
    best = pd.Series(0.0, ours.index)
    for partition in partitions(sweep).values():
        theirs = steps(partition, OWNED).where(violated(partition, OWNED) <= limit)
        best = best.combine(theirs, np.fmax)
    return claims.median((100 * (ours / best - 1))[best > 0])


def measure(sweep):
    return {
        "published": lambda: at_equal_violations(sweep, "shares"),
        "scaled": lambda: at_equal_violations(sweep, "shares-scaled"),
        "careful": lambda: at_equal_violations(sweep, "shares-careful"),
        "curves": lambda: at_equal_violations(sweep, "shares-curves"),
    }


def notes(sweep, expected):
    run = run_of_shares(sweep)
    shown = [(policy, run, policy) for policy in SHARES] + [("{} and {} cores".format(*cores), part, OWNED) for cores, part in partitions(sweep).items()]
    return [f"{name:<14} {np.median(violated(where, policy)):5.1f} % of windows violated, {np.median(steps(where, policy)):4.0f} training steps"
            for name, where, policy in shown]


def draw(sweep, expected):
    figure, axes = plt.subplots(figsize=(6.4, 4.4))
    run = run_of_shares(sweep)
    handles = []
    for policy, (name, color, marker) in SHARES.items():
        handles += axes.plot(violated(run, policy), steps(run, policy), marker, color=color, markersize=8 if marker == "*" else 5,
                             alpha=0.7, markeredgewidth=0, label=name)
    for cores, partition in partitions(sweep).items():
        over, done = violated(partition, OWNED), steps(partition, OWNED)
        dots = axes.plot(over, done, "s", color=style.INK, markersize=3, alpha=0.4, markeredgewidth=0, label="partitions: cores that the services own")
        height = 11 if cores[0] == cores[1] else 4 if cores[0] < cores[1] else -10  # Those of one height lie close together.
        axes.annotate("{}+{}".format(*cores), (float(np.median(over)), float(np.median(done))), textcoords="offset points",
                      xytext=(5, height), fontsize="x-small")
    axes.set_xlabel("services' windows above the objective [%]")
    axes.set_ylabel("training steps in 240 s")
    axes.set_xlim(left=-1)
    axes.margins(y=0.1)
    axes.set_ylim(bottom=0)
    figure.suptitle("two services and two training jobs on 12 cores; a dot a trial")
    style.legend_below(figure, [*handles, *dots], 2)
    return figure


if __name__ == "__main__":
    figures.main("fig_roma_mixed", draw, measure, __doc__, notes=notes)

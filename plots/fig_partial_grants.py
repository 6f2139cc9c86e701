#!/usr/bin/env python3
"""What malleability gains against the share of jobs that started with fewer cores than they asked for; a dot a trial."""
import numpy as np

import claims
import figures
import style
from gains import THROUGHPUT, TURNAROUND, gains, pooled
from load import parse_cpus
from style import plt

POLICY = "always-attend"
SHARE_KEY = "workload.partial-8.weight"  # Of the jobs that can start below their request.
PANELS = [(THROUGHPUT, "throughput"), (TURNAROUND, "mean turnaround")]


def share_below(cell):
    """In percent: of the jobs that started, those whose first grant was below what they preferred."""
    grants = cell.table("grants")
    first = grants[grants["kind"] == "granted"].groupby("job_id")["cores"].first()
    asked = cell.table("jobs").set_index("job_id")["requested_preferred"]
    return 100 * np.mean([len(parse_cpus(cores)) < asked[job] for job, cores in first.items()])


def dots(sweep, metric):
    """A dict a trial of the whole sweep: share and gain at each of its points."""
    trials = {}
    for point in sweep.points:
        found = gains(point.run, POLICY, metric)
        for cell in point.run.cells:
            if cell.elasticity == "malleable" and cell.trial in found:
                trial = trials.setdefault(cell.trial, {"share": [], "gain": []})
                trial["share"].append(share_below(cell))
                trial["gain"].append(found[cell.trial])
    return list(trials.values())


def slope(sweep, metric):
    """Of the least-squares line through the points of the sweep, one line a trial."""
    return claims.median(np.polyfit(t["share"], t["gain"], 1)[0] for t in dots(sweep, metric) if len(set(t["share"])) > 1)


def at_share(sweep, share, metric):
    return pooled([gains(p.run, POLICY, metric) for p in sweep.points if float(p.values[SHARE_KEY]) == share])


def measure(sweep):
    return {
        "slope_throughput": lambda: slope(sweep, THROUGHPUT),
        "slope_turnaround": lambda: slope(sweep, TURNAROUND),
        "none_throughput": lambda: at_share(sweep, 0, THROUGHPUT),
        "all_throughput": lambda: at_share(sweep, 1, THROUGHPUT),
        "all_turnaround": lambda: at_share(sweep, 1, TURNAROUND),
    }


def draw(sweep, expected):
    figure, grid = plt.subplots(1, 2, figsize=(9.5, 4))
    for axes, (metric, title) in zip(grid, PANELS):
        trials = dots(sweep, metric)
        share, gain = (np.concatenate([t[name] for t in trials]) for name in ("share", "gain"))
        axes.plot(share, gain, "o", color="#0072B2", alpha=0.5, markersize=3.5)
        line = np.poly1d(np.polyfit(share, gain, 1))
        ends = np.array([share.min(), share.max()])
        axes.plot(ends, line(ends), color=style.INK, linewidth=1.2)
        axes.axhline(0, color="#888888", linewidth=0.8)
        axes.set_xlabel("jobs that started below their request [%]")
        axes.set_ylabel(f"{title}, malleable / moldable - 1 [%]")
    figure.suptitle("Malleability gains where grants are partial   (a dot a trial; line: least squares)")
    return figure


if __name__ == "__main__":
    figures.main("fig_partial_grants", draw, measure, __doc__)

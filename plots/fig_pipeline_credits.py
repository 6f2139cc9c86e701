#!/usr/bin/env python3
"""Throughput and latency of a pipeline of four equal stages by the requests that may be open in it."""
import numpy as np

import claims
import figures
import style
from style import plt

STAGES, LEFT_OUT = 4, 16  # Requests at the begin, until there are as many inside as may be.
KINDS = {"wait": "stages wait", "work": "stages compute"}
LINKS = {"end-to-end": "#0072B2", "linear": "#D55E00"}


def kind_of(point):
    return "wait" if float(point.values["workload.0.wait_ms"]) > 0 else "work"


def opens(sweep):
    return sorted({int(point.values["workload.0.open"]) for point in sweep.points})


def rates(sweep, kind, link, open_requests):
    """By trial: requests a second, and how long one was inside (median), in seconds."""
    for point in sweep.points:
        if (kind_of(point), point.values["workload.0.credit_link"], int(point.values["workload.0.open"])) == (kind, link, open_requests):
            return {cell.trial: rate(cell) for cell in point.run.cells}
    raise claims.NotHere(f"there is no run of {KINDS[kind]}, {link}, {open_requests} open")


def rate(cell):
    rows = cell.table("requests").sort_values("finished").iloc[LEFT_OUT:]
    per_second = (len(rows) - 1) / (rows["finished"].iloc[-1] - rows["finished"].iloc[0])
    inside = (rows["finished"] - rows["started"]).astype(float)
    return per_second, float(inside.median()), float(inside.mean())


def against_one(sweep, kind, link, open_requests, which):
    """Each trial's figure by that of the same trial with one open request end to end, which is the baseline of all."""
    base, ours = rates(sweep, kind, "end-to-end", 1), rates(sweep, kind, link, open_requests)
    return [ours[trial][which] / base[trial][which] for trial in sorted(ours) if trial in base]


def little(sweep):
    """The largest residual of Little's law over all points, by trial: requests a second x time inside, by those that may be open."""
    trials = {}
    for kind in KINDS:
        for open_requests in opens(sweep):
            for trial, (per_second, _, mean) in rates(sweep, kind, "end-to-end", open_requests).items():
                residual = 100 * abs(per_second * mean / open_requests - 1)
                trials[trial] = max(trials.get(trial, 0), residual)
    return list(trials.values())


def measure(sweep):
    def of(kind, link, open_requests, which):
        return lambda: claims.median(against_one(sweep, kind, link, open_requests, which))

    return {
        "gain": of("wait", "end-to-end", 4, 0),
        "latency": of("wait", "end-to-end", 4, 1),
        "little": lambda: claims.median(little(sweep)),
        "linear": of("wait", "linear", 1, 0),
        "cpu_gain": of("work", "end-to-end", 4, 0),
    }


def draw_panel(axes, sweep, kind, which, bound, label):
    numbers = opens(sweep)
    for link, color in LINKS.items():
        values = [against_one(sweep, kind, link, number, which) for number in numbers]
        axes.plot(numbers, [np.median(value) for value in values], "-", color=color, label=f"credits {link}")
        for number, value in zip(numbers, values):
            axes.plot([number] * len(value), value, "o", markersize=3, alpha=0.5, color=color)
    fine = np.linspace(1, max(numbers), 100)
    axes.plot(fine, bound(fine), "--", color="#555555", label="closed form, end to end")
    axes.set_title(label, loc="left")
    axes.set_xticks(numbers)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("open requests")


def draw(sweep, _expected):
    figure, axes = plt.subplots(1, 4, figsize=(14, 3.6))
    for place, kind in enumerate(KINDS):
        most = STAGES if kind == "wait" else min(STAGES, sweep.cores_here, 2)
        draw_panel(axes[2 * place], sweep, kind, 0, lambda n, most=most: np.minimum(n, most), f"{KINDS[kind]}: throughput [x]")
        draw_panel(axes[2 * place + 1], sweep, kind, 1, lambda n, most=most: np.maximum(1, n / most), f"{KINDS[kind]}: time inside [x]")
    style.legend_below(figure, axes[0].get_legend_handles_labels()[0], 3)
    return figure


if __name__ == "__main__":
    figures.main("fig_pipeline_credits", draw, measure, __doc__)

#!/usr/bin/env python3
"""Which part of the requests cores get beside a modelled device, and GoogLeNet's mean response, by the choice of the device's
queue: with ROMA's published polling and with servers that take what waits."""
import numpy as np

import claims
import figures
import style
from style import plt

CHOICES = {"rr": "by turn", "random": "at random", "lq": "longest queue", "h1": "H1"}
POLLINGS = {"published": "polling as published", "work-conserving": "servers take what waits"}


def run_of(sweep, polling, cores):
    for point in sweep.points:
        if point.values["services.polling"] == polling and point.values["policy.rr.amount"] == cores:
            return point.run
    raise claims.NotHere(f"there is no run of {polling} polling and {cores} cores")


def by_trial(run, policy, column, service=None):
    """Of one service, or the mean of all, by trial."""
    table = run.services()
    table = table[table["policy"] == policy]
    if service:
        table = table[table["service"] == service]
    if table.empty:
        raise claims.NotHere(f"the records lack {policy}")
    return table.groupby("trial")[column].mean()


def cpu_share(run, policy):
    return 1 - by_trial(run, policy, "device_share")


def response(run, policy):
    return by_trial(run, policy, "mean_latency_ms", "googlenet")


def spread(run):
    """Slowest of the four choices over the fastest, by trial."""
    values = np.array([response(run, policy).to_numpy() for policy in CHOICES])
    return values.max(axis=0) / values.min(axis=0)


def measure(sweep):
    def share(policy):
        return claims.median(cpu_share(run_of(sweep, "published", 6), policy))

    def ratio(one, other):
        run = run_of(sweep, "published", 1)
        return claims.median((response(run, one) / response(run, other)).dropna())

    return {
        "share_rr": lambda: share("rr"),
        "share_random": lambda: share("random"),
        "share_lq": lambda: share("lq"),
        "share_h1": lambda: share("h1"),
        "h1_lq": lambda: ratio("h1", "lq"),
        "rr_lq": lambda: ratio("rr", "lq"),
        "random_rr": lambda: ratio("random", "rr"),
        "six_cores": lambda: claims.median(spread(run_of(sweep, "published", 6))),
        "conserving": lambda: claims.median(spread(run_of(sweep, "work-conserving", 1))),
    }


def draw_panel(axes, sweep, cores, values, published):
    for shift, (polling, label) in zip((-0.15, 0.15), POLLINGS.items()):
        run = run_of(sweep, polling, cores)
        for place, policy in enumerate(CHOICES):
            ours = values(run, policy)
            axes.plot([place + shift] * len(ours), ours, "o", markersize=3, alpha=0.6,
                      color="#0072B2" if polling == "published" else "#D55E00", label=label if place == 0 else None)
    for place, policy in enumerate(CHOICES):
        if published:
            axes.plot(place - 0.15, published[policy], "x", color=style.EXCESS, markersize=7, label="published" if place == 0 else None)
    axes.set_xticks(range(len(CHOICES)), CHOICES.values())
    axes.set_ylim(bottom=0)
    axes.margins(x=0.15)


def draw(sweep, expected):
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.8))
    draw_panel(axes[0], sweep, 6, cpu_share, expected["published"]["share"])
    axes[0].set_title("share of requests on cores, 6 cores each", loc="left")
    published = {policy: 1e3 * seconds for policy, seconds in expected["published"]["response_s"].items()}
    draw_panel(axes[1], sweep, 1, response, published)
    axes[1].set_title("GoogLeNet's mean response [ms], 1 core each", loc="left")
    draw_panel(axes[2], sweep, 6, response, None)
    axes[2].set_title("the same, 6 cores each", loc="left")
    axes[2].set_ylim(*axes[1].get_ylim())
    figure.suptitle("how the queue of the modelled device is chosen (its figures are derived from published traces)")
    style.legend_below(figure, axes[0].get_legend_handles_labels()[0], 3)
    return figure


if __name__ == "__main__":
    figures.main("fig_roma_polling", draw, measure, __doc__)

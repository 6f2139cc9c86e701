#!/usr/bin/env python3
"""A service under quotas that follow its mean response, with threads that follow the quota and with two always."""
import claims
import figures
import style
from style import plt

CLASSES = {"rigid": ("two threads (rigid)", "#D55E00"), "malleable": ("threads follow the share (malleable)", "#0072B2")}
PERIODS = (10, 100)  # Milliseconds.


def run_of(sweep, period):
    for point in sweep.points:
        if point.values["machine.quota_period_ms"] == period:
            return point.run
    raise claims.NotHere(f"there is no run with a period of {period} ms")


def by_trial(table, elasticity, column):
    found = table[table["elasticity"] == elasticity].set_index("trial")[column].dropna()
    if found.empty:
        raise claims.NotHere(f"the records lack {column} of {elasticity} cells")
    return found.astype(float)


def violated(table, elasticity):
    return 100 * by_trial(table, elasticity, "violated") / by_trial(table, elasticity, "windows")


def measure(sweep):
    def ratio(table, column, period):
        rows = table(run_of(sweep, period))
        return claims.median((by_trial(rows, "malleable", column) / by_trial(rows, "rigid", column)).dropna())

    def points(period):
        rows = run_of(sweep, period).services()
        return claims.median((violated(rows, "malleable") - violated(rows, "rigid")).dropna())

    def services(run):
        return run.services()

    def summary(run):
        return run.summary()

    return {
        "p99": lambda: ratio(services, "p99_latency_ms", 100),
        "p99_short": lambda: ratio(services, "p99_latency_ms", 10),
        "throttled": lambda: ratio(summary, "throttled_s_per_core_s", 100),
        "cores": lambda: ratio(summary, "granted_core_s", 100),
        "violations": lambda: points(100),
    }


def draw_panel(axes, sweep, values, label):
    for place, period in enumerate(PERIODS):
        for shift, (elasticity, (name, color)) in zip((-0.15, 0.15), CLASSES.items()):
            ours = values(run_of(sweep, period), elasticity)
            axes.plot([place + shift] * len(ours), ours, "o", markersize=4, alpha=0.6, color=color, label=name if place == 0 else None)
    axes.set_xticks(range(len(PERIODS)), [f"{period} ms" for period in PERIODS])
    axes.set_title(label, loc="left")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.2)


def draw(sweep, _expected):
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.6))
    draw_panel(axes[0], sweep, lambda run, kind: by_trial(run.services(), kind, "p99_latency_ms"), "99th percentile [ms]")
    draw_panel(axes[1], sweep, lambda run, kind: violated(run.services(), kind), "windows above objective [%]")
    draw_panel(axes[2], sweep, lambda run, kind: by_trial(run.summary(), kind, "granted_core_s"), "CPU time granted [core-s]")
    draw_panel(axes[3], sweep, lambda run, kind: by_trial(run.summary(), kind, "throttled_s_per_core_s"), "throttled [s per core-s]")
    for axis in axes:
        axis.set_xlabel("period of the quota")
    style.legend_below(figure, axes[0].get_legend_handles_labels()[0], 2)
    return figure


if __name__ == "__main__":
    figures.main("fig_roma_elastic", draw, measure, __doc__)

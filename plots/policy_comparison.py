#!/usr/bin/env python3
"""Medians of the main metrics with intervals whose level the legend tells, a group a policy, rigid and malleable tenants side by side."""
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import claims
import style
from style import plt

READS = []  # The summary, which is always there.
METRICS = [  # column, title, factor, whether more is better
    ("makespan_s", "makespan [s]", 1, False),
    ("mean_turnaround_s", "mean turnaround [s]", 1, False),
    ("throughput_jobs_per_hour", "throughput [jobs/h]", 1, True),
    ("core_utilization", "core utilization [%]", 100, True),
    ("oversubscription", "oversubscription [%]", 100, False),
    ("jain_index", "fairness (Jain's index)", 1, True),
]
FILLS = {"rigid": 0.30, "moldable": 0.60, "malleable": 1.0}  # Opacity of the bars.


def draw_bar(axes, x, width, values, color, elasticity):
    median = np.median(values)
    axes.bar(x, median, width * 0.92, color=color, alpha=FILLS[elasticity], edgecolor=color, linewidth=0)
    axes.bar(x, median, width * 0.92, color="none", edgecolor=color, linewidth=1.0)
    if len(values) > 1:
        interval = claims.median(values)
        axes.plot([x, x], [interval.low, interval.high], color=style.INK, linewidth=1.4, solid_capstyle="butt", zorder=3)
    offsets = (np.arange(len(values)) - (len(values) - 1) / 2) * width * 0.5 / max(3, len(values))
    axes.plot(x + offsets, values, "o", color="white", markeredgecolor=style.INK, markeredgewidth=0.7, markersize=3, zorder=4)


def draw_metric(axes, run, summary, column, factor):
    width = 0.82 / len(run.elasticities)
    for i, policy in enumerate(run.policies):
        for k, elasticity in enumerate(run.elasticities):
            chosen = (summary["policy"] == policy) & (summary["elasticity"] == elasticity)
            values = summary.loc[chosen, column].to_numpy() * factor
            if len(values) > 0:
                x = i + (k - (len(run.elasticities) - 1) / 2) * width
                draw_bar(axes, x, width, values, style.policy_color(policy, run.policies), elasticity)
    axes.set_ylim(bottom=0)
    axes.margins(x=0.02)
    axes.grid(axis="x", visible=False)
    axes.set_xticks(range(len(run.policies)), run.policies, rotation=28, ha="right", rotation_mode="anchor")


def draw(run):
    summary = run.summary()
    width = max(8.0, 2.0 + 1.45 * len(run.policies))
    figure, grid = plt.subplots(2, 3, figsize=(width, 5.6), sharex=True)
    for axes, (column, title, factor, more) in zip(grid.flat, METRICS):
        draw_metric(axes, run, summary, column, factor)
        axes.set_title(f"{title}  {'↑' if more else '↓'}", loc="left")
    trials = summary["trial"].nunique()
    handles = [Patch(facecolor="#555555", alpha=FILLS[e], edgecolor="#555555", label=f"{e} tenants") for e in run.elasticities]
    handles.append(Line2D([], [], marker="o", color="none", markerfacecolor="white", markeredgecolor=style.INK, markersize=4,
                          label="one trial"))
    if trials > 1:
        level = claims.level_text(claims.median(range(trials)))
        handles.append(Line2D([], [], color=style.INK, linewidth=1.4, label=f"interval of the median, {level}"))
    style.legend_below(figure, handles, len(handles))
    figure.suptitle(f"{run.title}: median of {trials} trial{'s' if trials != 1 else ''}   (↑ more is better, ↓ less is better)")
    return figure


if __name__ == "__main__":
    style.main(draw, "policy_comparison", __doc__)

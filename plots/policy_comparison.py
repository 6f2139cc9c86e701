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
    ("jain_index", "Jain's index (1 = all alike)", 1, True),
]
OF_SERVICES = [  # In place of those, where nothing but services ran.
    ("mean_latency_ms", "mean response [ms]", 1, False),
    ("p99_latency_ms", "99th percentile of responses [ms]", 1, False),
    ("violated", "windows above the SLA [%]", 100, False),
    ("slo_attainment", "requests within their SLO [%]", 100, True),
    ("granted_core_s", "CPU time granted [core-s]", 1, False),
    ("used_core_s", "CPU time used [core-s]", 1, False),
]
OF_FINISHED_JOBS = ("mean_turnaround_s", "jain_index")  # Means nothing where none finished.
FILLS = {"rigid": 0.30, "moldable": 0.60, "malleable": 1.0}  # Opacity of the bars.
DOT = {"linestyle": "none", "color": "white", "markeredgecolor": style.INK, "zorder": 4}
TRIAL = {**DOT, "marker": "o", "markersize": 3, "markeredgewidth": 0.7}
MARKED = {**DOT, "marker": "X", "markersize": 5, "markeredgewidth": 0.7, "color": "#ffd23f"}
LETTER = 0.062  # Inches, of a tick's label.
LOST = {"facecolor": "white", "edgecolor": style.EXCESS, "hatch": "xxxx", "linewidth": 1.0}
STATES = ("failed", "rejected", "cancelled")


def draw_bar(axes, x, width, cells, column, factor, color, elasticity):
    """One policy with one elasticity; cells are its rows of the summary, a trial each."""
    named = {"label": f"_{elasticity}"}
    lost = cells["lost"].sum() > 0
    if column in OF_FINISHED_JOBS:
        cells = cells[cells["finished"] > 0]
    cells = cells[cells[column].notna()]
    values = cells[column].to_numpy() * factor
    if len(values) == 0:
        return
    median = np.median(values)
    if lost:
        axes.bar(x, median, width * 0.92, **LOST, **named)
    else:
        axes.bar(x, median, width * 0.92, color=color, alpha=FILLS[elasticity], edgecolor=color, linewidth=0, **named)
        axes.bar(x, median, width * 0.92, color="none", edgecolor=color, linewidth=1.0)
    if len(values) > 1:
        interval = claims.median(values)
        axes.plot([x, x], [interval.low, interval.high], color=style.INK, linewidth=1.4, solid_capstyle="butt", zorder=3,
                  label=f"_{elasticity}, interval of the median")
    places = x + (np.arange(len(values)) - (len(values) - 1) / 2) * width * 0.5 / max(3, len(values))
    marked = cells["marked"].to_numpy() > 0
    axes.plot(places[~marked], values[~marked], **TRIAL, label=f"_{elasticity}, trials")
    axes.plot(places[marked], values[marked], **MARKED, label=f"_{elasticity}, marked trials")


def tell_lost(axes, x, cells):
    """Written up the bar, whatever its height."""
    if cells["lost"].sum() > 0:
        axes.text(x, 0.03, f"lost {cells['lost'].sum()} of {cells['jobs'].sum()} jobs", rotation=90, ha="center", va="bottom",
                  transform=axes.get_xaxis_transform(), fontsize=7, weight="bold", color=style.EXCESS, zorder=5,
                  bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1})


def draw_metric(axes, run, summary, column, factor, letters):
    width = 0.82 / len(run.elasticities)
    for i, policy in enumerate(run.policies):
        for k, elasticity in enumerate(run.elasticities):
            cells = summary[(summary["policy"] == policy) & (summary["elasticity"] == elasticity)]
            x = i + (k - (len(run.elasticities) - 1) / 2) * width
            draw_bar(axes, x, width, cells, column, factor, style.policy_color(policy, run.policies), elasticity)
            tell_lost(axes, x, cells)
    axes.set_ylim(bottom=0)
    axes.margins(x=0.02)
    axes.grid(axis="x", visible=False)
    axes.set_xticks(range(len(run.policies)), run.policies, **style.turned(run.policies, letters))


def legend(run, summary):
    trials = summary["trial"].nunique()
    handles = [Patch(facecolor="#555555", alpha=FILLS[e], edgecolor="#555555", label=f"{e} tenants") for e in run.elasticities]
    handles.append(Line2D([], [], **TRIAL, label="one trial"))
    if (summary["marked"] > 0).any():
        handles.append(Line2D([], [], **MARKED, label="marked trial"))
    if trials > 1:
        level = claims.level_text(claims.median(range(trials)))
        handles.append(Line2D([], [], color=style.INK, linewidth=1.4, label=f"interval of the median, {level}"))
    if (summary["lost"] > 0).any():
        handles.append(Patch(**LOST, label="jobs were lost: not comparable"))
    return handles


def doubts(summary):
    """A line of the title for each kind of cell that must not be taken like the others."""
    lines = []
    lossy = summary[summary["lost"] > 0]
    if len(lossy) > 0:
        kinds = [f"{lossy[state].sum()} {state}" for state in STATES if lossy[state].sum() > 0]
        lines.append(f"{len(lossy)} of {len(summary)} cells lost jobs ({', '.join(kinds)}): they did less work and are no winners")
    marked = (summary["marked"] > 0).sum()
    if marked > 0:
        lines.append(f"{marked} of {len(summary)} cells {'is' if marked == 1 else 'are'} marked: column marks of summary.csv says why")
    return lines


KEY = ["policy", "elasticity", "trial"]


def with_services(summary, services):
    """The summary and, for every cell, what its services say together: means and shares over all requests or windows, and the
    worst of the 99th percentiles."""
    rows = services.assign(latency=services["mean_latency_ms"] * services["served"], good=services["slo_attainment"] * services["requests"])
    sums = rows.groupby(KEY)[["latency", "served", "good", "requests", "violated", "windows"]].sum(min_count=1)
    cells = sums.assign(mean_latency_ms=sums["latency"] / sums["served"], slo_attainment=sums["good"] / sums["requests"],
                        violated=sums["violated"] / sums["windows"], p99_latency_ms=rows.groupby(KEY)["p99_latency_ms"].max())
    return summary.join(cells[["mean_latency_ms", "slo_attainment", "violated", "p99_latency_ms"]], on=KEY)


def metrics_of(run, summary):
    services = run.services()
    if services is None or (summary["throughput_jobs_per_hour"] > 0).any():
        return summary, METRICS
    summary = with_services(summary, services)
    return summary, [metric for metric in OF_SERVICES if summary[metric[0]].notna().any()]


def draw(run):
    summary, metrics = metrics_of(run, run.summary())
    width = max(8.0, 2.0 + 1.45 * len(run.policies))
    letters = int((width - 1.2) / 3 / len(run.policies) / LETTER)  # That have room under a policy's bars.
    figure, grid = plt.subplots(2, 3, figsize=(width, 5.6), sharex=True)
    for axes, above in zip(grid.flat[len(metrics):], grid.flat[len(metrics) - 3:]):
        axes.set_axis_off()
        above.tick_params(labelbottom=True)
    for axes, (column, title, factor, more) in zip(grid.flat, metrics):
        draw_metric(axes, run, summary, column, factor, letters)
        axes.set_title(f"{title}  {'↑' if more else '↓'}", loc="left")
    handles = legend(run, summary)
    style.legend_below(figure, handles, min(len(handles), 4))
    trials = summary["trial"].nunique()
    title = f"{run.title}: median of {trials} trial{'s' if trials != 1 else ''}   (↑ more is better, ↓ less is better)"
    figure.suptitle("\n".join([title, *doubts(summary)]))
    return figure


if __name__ == "__main__":
    style.main(draw, "policy_comparison", __doc__)

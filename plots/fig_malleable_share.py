#!/usr/bin/env python3
"""What a share of malleable jobs changes under EASY backfilling and four strategies, against all jobs rigid, at three loads."""
from datetime import datetime

import numpy as np

import claims
import figures
import style
from gains import pooled
from style import plt

SHARE, GAP = "trace.malleable_share", "trace.gap.mean_s"
FULL_GAP_S = 462  # Between jobs, where they ask for all that the machine has.
EASY = "easy"
STRATEGIES = {"easy": "#7a7a7a", "min": "#0072B2", "pref": "#D55E00", "keep-pref": "#009E73", "avg": "#E69F00"}
METRICS = {"turnaround": "mean turnaround", "makespan": "makespan", "wait": "mean wait", "utilisation": "nodes in use"}
COLUMNS = {"turnaround": "mean_turnaround_s", "makespan": "makespan_s", "wait": "mean_wait_s"}


def values(run, policy, metric):
    """By trial."""
    table = run.summary()
    table = table[table["policy"] == policy].set_index("trial")
    if metric in COLUMNS:
        return table[COLUMNS[metric]]
    return table["granted_core_s"] / (len(run.cells[0].machine_cores) * table["makespan_s"])


def run_of(sweep, gap, share):
    for point in sweep.points:
        if (point.values[GAP], point.values[SHARE]) == (gap, share):
            return point.run
    raise claims.NotHere(f"there is no run of {100 * share:.0f} % malleable jobs")


def changes(sweep, gap, share, policy, metric):
    """Percent, by trial, against rigid jobs under EASY on the same trace; without trials in which these never waited."""
    before = values(run_of(sweep, gap, 0), EASY, metric)
    after = values(run_of(sweep, gap, share), policy, metric)
    return (100 * (after[before > 0] / before[before > 0] - 1)).dropna().to_dict()


def best(sweep, gap):
    """The strategy with the shortest turnaround where all jobs are malleable."""
    found = {policy: changes(sweep, gap, 1, policy, "turnaround") for policy in STRATEGIES if policy != EASY}
    found = {policy: np.median(list(gains.values())) for policy, gains in found.items() if gains}
    if not found:
        raise claims.NotHere("the records lack all strategies")
    return min(found, key=found.get)


def of_best(sweep, share, metric):
    """A dict a load, of its best strategy."""
    return [changes(sweep, gap, share, best(sweep, gap), metric) for gap in sweep.values(GAP)]


def beyond_20(sweep):
    """Points of turnaround, by trial, that all malleable jobs gain over 20 % of them."""
    pairs = zip(of_best(sweep, 1, "turnaround"), of_best(sweep, 0.2, "turnaround"))
    return [{trial: most[trial] - some[trial] for trial in most.keys() & some.keys()} for most, some in pairs]


def speed(sweep):
    """Jobs simulated a second and core, at least: the run's times are whole seconds. All of its cells, records included."""
    manifest = sweep.manifest
    if not manifest.get("finished") or manifest.get("resumed"):
        raise claims.NotHere("the run was interrupted, so its times are not those of its cells")
    started, finished = (datetime.fromisoformat(manifest[key].replace("Z", "+00:00")) for key in ("started", "finished"))
    jobs = sum(int(point.run.summary()["jobs"].sum()) for point in sweep.points)
    rate = jobs / ((finished - started).total_seconds() + 1) / sweep.cores_here
    return claims.Estimate(rate, rate, rate, 1.0, 1)


def measure(sweep):
    gains = {metric: (lambda metric=metric: pooled(of_best(sweep, 1, metric), np.median)) for metric in METRICS}
    return gains | {
        "turnaround_20": lambda: pooled(of_best(sweep, 0.2, "turnaround"), np.median),
        "wait_20": lambda: pooled(of_best(sweep, 0.2, "wait"), np.median),
        "more": lambda: pooled(beyond_20(sweep), np.median),
        "speed": lambda: speed(sweep),
    }


def load_text(gap):
    return f"{100 * FULL_GAP_S / gap:.0f} % load"


def notes(sweep, expected):
    shares = [share for share in sweep.values(SHARE) if share > 0]
    lines = ["Change in percent against rigid jobs under EASY, medians of the trials, by the share of malleable jobs:",
             f"  {'':<35}" + "".join(f"{100 * share:>7.0f} %" for share in shares)]
    for gap in sweep.values(GAP)[::-1]:
        chosen = best(sweep, gap)
        for policy in STRATEGIES:
            if policy == EASY:
                continue
            for metric in METRICS:
                medians = [np.median(list(changes(sweep, gap, share, policy, metric).values())) for share in shares]
                name = f"{load_text(gap)}, {policy}{'*' * (policy == chosen)}"
                lines.append(f"  {name if metric == 'turnaround' else '':<24}{metric:<11}" + "".join(f"{value:>+9.1f}" for value in medians))
    return lines + ["  * the shortest turnaround where all jobs are malleable; the claims are of these", *expected["notes"]]


def draw_panel(axes, sweep, gap, metric, published):
    shares = np.array([share for share in sweep.values(SHARE)])
    for i, (policy, color) in enumerate(STRATEGIES.items()):
        found = [(share, changes(sweep, gap, share, policy, metric)) for share in shares]
        found = [(share, claims.median(gains.values())) for share, gains in found if gains]
        if not found:
            continue
        x = np.array([100 * share for share, _ in found]) + (i - 2)
        middle, low, high = (np.array([getattr(estimate, name) for _, estimate in found]) for name in ("value", "low", "high"))
        axes.errorbar(x, middle, [middle - low, high - middle], fmt="o-", color=color, markersize=3, linewidth=1.2, capsize=2, label=policy)
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.plot([108, 108], published, color=style.EXCESS, linewidth=5, alpha=0.5, solid_capstyle="butt", label="published, best strategy of each machine")
    axes.set_xticks([0, 20, 40, 60, 80, 100])


def draw(sweep, expected):
    gaps = sweep.values(GAP)[::-1]
    figure, grid = plt.subplots(len(METRICS), len(gaps), figsize=(3.6 * max(2, len(gaps)), 9), sharex=True, sharey="row", squeeze=False)
    for row, (metric, title) in zip(grid, METRICS.items()):
        for axes, gap in zip(row, gaps):
            draw_panel(axes, sweep, gap, metric, expected["published"][metric])
            axes.set_title(load_text(gap) if metric == "turnaround" else "", loc="left")
        row[0].set_ylabel(f"{title}\nchange [%]")
    for axes in grid[-1]:
        axes.set_xlabel("malleable jobs [%]")
    style.legend_below(figure, grid[0][0].get_legend_handles_labels()[0], 3)
    figure.suptitle("Malleable jobs among rigid ones, against rigid jobs under EASY backfilling   (bars: 95 % intervals)")
    return figure


if __name__ == "__main__":
    figures.main("fig_malleable_share", draw, measure, __doc__, notes)

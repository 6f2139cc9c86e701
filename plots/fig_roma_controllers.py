#!/usr/bin/env python3
"""Windows above the objective against granted cores, for every setting of every controller, and which of them others beat in both."""
import numpy as np

import claims
import figures
import style
from service_costs import core_seconds, violated
from style import plt

WINDOW = "services.window_s"
# By the part of its settings' names before "_": what it is called, its colour and marker.
SYSTEMS = {
    "static": ("fixed size", "#7a7a7a", "s"),
    "ct": ("ROMA (CT)", "#D55E00", "o"),
    "ct2": ("ROMA (CT2)", "#E69F00", "o"),
    "rules": ("rules", "#8C564B", "v"),
    "kosmos": ("KOSMOS, fixed gains", "#CC79A7", "D"),
    "kosmos-adaptive": ("KOSMOS, adaptive", "#882255", "D"),
    "sponge": ("Sponge", "#009E73", "P"),
    "fa2": ("FA2", "#117733", "X"),
    "hpa": ("HPA", "#56B4E9", "^"),
    "vpa": ("VPA", "#332288", "<"),
    "kpa": ("KPA", "#44AA99", ">"),
    "curve-shares": ("by true speed curves", "#0072B2", "*"),
    "curve-wrong": ("… by wrong ones", "#0072B2", "$?$"),
}
TRUE, SLOW, FAST = "curve-shares", "curve-wrong_slow", "curve-wrong_fast"


def system_of(policy):
    return policy.partition("_")[0]


def run_of(sweep, window_s):
    for point in sweep.points:
        if point.values[WINDOW] == window_s:
            return point.run
    raise claims.NotHere(f"there is no run with windows of {window_s} s")


def settings(run, system):
    found = [policy for policy in run.policies if system_of(policy) == system]
    if not found:
        raise claims.NotHere(f"the records lack {system}")
    return found


def others(run):
    """The settings of all that do not go by the curves."""
    return [policy for policy in run.policies if not system_of(policy).startswith("curve-")]


def beats(one, other):
    """Of (violated, core-seconds): no worse in either and better in one."""
    return (one[0] <= other[0]) & (one[1] <= other[1]) & ((one[0] < other[0]) | (one[1] < other[1]))


def costs(run, policy):
    return violated(run, policy), core_seconds(run, policy)


def least_violated(points, spent):
    """What settings, each (violated, core-seconds), leave for no more than these core-seconds: one of them, or two by turns.

    Without turns a setting with few cores and many violations is beaten by no other in both, however bad it is."""
    points = np.asarray(points)
    few, many = points[points[:, 1] <= spent], points[points[:, 1] > spent]
    if len(few) == 0:
        raise claims.NotHere("no other setting has so few cores")
    by_turns = [few[:, 0].min()]
    for violated_, cores in few:
        by_turns += list(violated_ + (many[:, 0] - violated_) * (spent - cores) / (many[:, 1] - cores))
    return min(by_turns)


def beyond_others(sweep, window_s, policy):
    """Points of violated windows, less those that others leave for as many cores, by trial."""
    run = run_of(sweep, window_s)
    ours, theirs = costs(run, policy), [costs(run, other) for other in others(run)]
    return claims.median(ours[0][trial] - least_violated([(violated_[trial], cores[trial]) for violated_, cores in theirs], ours[1][trial])
                         for trial in ours[0].index)


def both(sweep, of, policy):
    """The mean of both runs, by trial."""
    return sum(of(point.run, policy) for point in sweep.points) / len(sweep.points)


def measure(sweep):
    return {
        "true_1": lambda: beyond_others(sweep, 1, TRUE),
        "true_5": lambda: beyond_others(sweep, 5, TRUE),
        "slow_1": lambda: beyond_others(sweep, 1, SLOW),
        "slow_5": lambda: beyond_others(sweep, 5, SLOW),
        "fast_1": lambda: beyond_others(sweep, 1, FAST),
        "fast_5": lambda: beyond_others(sweep, 5, FAST),
        "slow_cores": lambda: claims.median(both(sweep, core_seconds, SLOW) / both(sweep, core_seconds, TRUE)),
        "fast_violations": lambda: claims.median(both(sweep, violated, FAST) - both(sweep, violated, TRUE)),
    }


def medians(run):
    """(violated, core-seconds) by setting."""
    return {policy: tuple(float(np.median(values)) for values in costs(run, policy)) for policy in run.policies}


def notes(sweep, expected):
    lines = []
    for point in sweep.points:
        at = medians(point.run)
        lines.append(f"windows of {point.values[WINDOW]:g} s:")
        for policy, ours in at.items():
            better = [other for other, theirs in at.items() if beats(theirs, ours)]
            said = f"beaten by {len(better)}: {', '.join(better[:2])}{', …' if len(better) > 2 else ''}" if better else "on the front"
            lines.append(f"  {policy:<30} {ours[0]:5.1f} % of windows violated, {ours[1]:6.0f} core-seconds; {said}")
        whole = [SYSTEMS[system][0] for system in SYSTEMS if system != "curve-wrong" and
                 all(any(beats(at[other], at[policy]) for other in at if system_of(other) != system) for policy in settings(point.run, system))]
        lines.append(f"  every setting is beaten by another system: {', '.join(whole)}")
    return lines


def front(points):
    """Corners of what none beats, from the fewest cores on."""
    corners = []
    for violated_, spent in sorted(points, key=lambda point: (point[1], point[0])):
        if not corners or violated_ < corners[-1][1]:
            corners.append((spent, violated_))
    return np.array(corners)


def draw_panel(axes, run):
    at = medians(run)
    corners = front(at.values())
    axes.step(*corners.T, where="post", color="#c9c9c9", linewidth=4, zorder=1)
    for system, (name, color, marker) in SYSTEMS.items():
        points = np.array([at[policy] for policy in settings(run, system)])
        axes.plot(points[1:, 1], points[1:, 0], marker=marker, color=color, markersize=5, markerfacecolor="white", linestyle="")
        axes.plot(*points[0, ::-1], marker=marker, color=color, markersize=9 if marker == "*" else 6, linestyle="")
    for policy, label in ((SLOW, "x 0.7"), (FAST, "x 1.4")):
        axes.annotate(label, at[policy][::-1], xytext=(5, 3), textcoords="offset points", fontsize="x-small", color="#0072B2")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(bottom=-0.1)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("granted core-seconds")


def draw(sweep, expected):
    figure, axes = plt.subplots(1, len(sweep.points), figsize=(5.6 * len(sweep.points), 5), sharex=True, sharey=True, squeeze=False)
    for axis, point in zip(axes[0], sweep.points):
        draw_panel(axis, point.run)
        axis.set_title(f"windows of {point.values[WINDOW]:g} s", loc="left")
    axes[0][0].set_ylabel("windows above the objective [%]")
    handles = [plt.Line2D([], [], marker=marker, ls="", color=color, label=name) for name, color, marker in SYSTEMS.values()]
    handles.append(plt.Line2D([], [], color="#c9c9c9", linewidth=4, label="none is better in both"))
    figure.suptitle("a mark a setting, medians over trials; filled: as its source has it")
    style.legend_below(figure, handles, 5)
    return figure


if __name__ == "__main__":
    figures.main("fig_roma_controllers", draw, measure, __doc__, notes=notes)

#!/usr/bin/env python3
"""Violated windows and granted core-seconds of ROMA and of systems that each lack one of its parts, by trial."""
import numpy as np

import figures
import style
from service_costs import change, core_seconds, violated
from style import plt

ROMA, SCALED = "roma", "roma-scaled"
OTHERS = ["rules", "static-max", "devices", "vpa"]  # static-min is shown, as the best that a fixed size could be paid with.
BURST = "trace.requests.2.start_s"


def cores(run, policy):
    """Mean cores granted over the time of the trace, by trial."""
    return core_seconds(run, policy) / run.summary().groupby("trial")["makespan_s"].max()


def measure(sweep):
    def against_others(of, ours):
        return lambda: change([point.run for point in sweep.points], of, ours, OTHERS)

    return {
        "violations": against_others(violated, ROMA),
        "violations_close": against_others(violated, ROMA),
        "cores": against_others(cores, ROMA),
        "cores_close": against_others(cores, ROMA),
        "scaled_violations": against_others(violated, SCALED),
        "scaled_cores": against_others(cores, SCALED),
    }


def bursts(point):
    """The other service's begins at 48 s."""
    return "bursts at once" if point.values[BURST] == 48 else "bursts one after the other"


def notes(sweep, expected):
    lines = []
    for point in sweep.points:
        lines.append(f"{bursts(point)}:")
        for policy in point.run.policies:
            lines.append(f"  {policy:<12} {np.median(violated(point.run, policy)):6.1f} % of windows violated, "
                         f"{np.median(cores(point.run, policy)):5.2f} cores")
    return lines


def draw(sweep, expected):
    figure, axes = plt.subplots(1, len(sweep.points), figsize=(5.5 * len(sweep.points), 4), sharex=True, sharey=True, squeeze=False)
    handles = []
    for place, (axis, point) in enumerate(zip(axes[0], sweep.points)):
        policies = point.run.policies
        for policy in policies:
            color = style.policy_color(policy, policies)
            handle, = axis.plot(cores(point.run, policy), violated(point.run, policy), "o", color=color, markersize=4, alpha=0.7, label=policy)
            if place == 0:
                handles.append(handle)
        axis.set_title(bursts(point), loc="left")
        axis.set_xlabel("mean cores granted")
        axis.set_xlim(left=-0.2)
        axis.set_ylim(bottom=-1)
    axes[0][0].set_ylabel("windows above the objective [%]")
    figure.suptitle("beside two modelled devices (figures derived from published traces); a dot a trial", fontsize="small")
    style.legend_below(figure, handles, len(handles))
    return figure


if __name__ == "__main__":
    figures.main("fig_roma_systems", draw, measure, __doc__, notes=notes)

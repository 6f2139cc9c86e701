#!/usr/bin/env python3
"""Throughput and median time inside of pipelines, simulated against measured, by open requests and cores."""
import numpy as np
from matplotlib.lines import Line2D

import claims
import figures
import style
from style import plt
from validation import SweptValidation

CALIBRATED = (2, 1)  # Open requests, cores: the first values of the sweep.
KINDS = ["computes", "waits", "waits and computes", "aligns and sorts"]
CORES = {1: "#D55E00", 2: "#0072B2"}
VALUES = {"per_second": "answers a second", "inside_ms": "median time inside [ms]"}


def kind_of(values):
    if values["workload.0.pipeline"] == "align-sort":
        return KINDS[3]
    return KINDS[2 if "workload.0.work_ms" in values and "workload.0.wait_ms" in values else 1 if "workload.0.wait_ms" in values else 0]


def pairs(validation, kinds):
    """(open, cores, row) of the cells of these kinds of pipelines."""
    found = [(int(values["workload.0.open"]), int(values["machine.cores"]), row) for values, row in validation.services() if kind_of(values) in kinds]
    if not found:
        raise claims.NotHere(f"there is no cell of a pipeline that {' or '.join(kinds)}")
    return found


def errors(validation, kinds, value):
    """By trial: the absolute errors in % of the cells that differ from what was calibrated."""
    trials = {}
    for open_requests, cores, row in pairs(validation, kinds):
        if (open_requests, cores) != CALIBRATED:
            trials.setdefault(row["trial"], []).append(100 * abs(row["simulated"][value] / row["measured"][value] - 1))
    return trials.values()


def repeats(validation, kinds, value):
    """By trial: the absolute differences in % of measured cells from the median of the same cell's other trials.

    No model of this machine can be nearer than what it does twice."""
    cells = {}
    for _, _, row in pairs(validation, kinds):
        cells.setdefault(row["run"], {})[row["trial"]] = row["measured"][value]
    trials = {}
    for cell in cells.values():
        for trial, measured in cell.items():
            others = [other for number, other in cell.items() if number != trial]
            if not others:
                raise claims.NotHere("a cell was measured once")
            trials.setdefault(trial, []).append(100 * abs(measured / np.median(others) - 1))
    return trials.values()


def reach(validation, kinds, value, summed):
    if len(errors(validation, kinds, value)) < 2:
        return None
    itself = claims.median(summed(trial) for trial in repeats(validation, kinds, value))
    return claims.Reach(itself.value, "the same of this machine against its own other trials")


def measure(validation):
    def of(kinds, value, summed):
        def estimate():
            for kind in kinds:
                pairs(validation, [kind])  # What says something of all needs all.
            error = claims.median(summed(trial) for trial in errors(validation, kinds, value))
            return error._replace(reach=reach(validation, kinds, value, summed))

        return estimate

    return {
        "throughput": of(KINDS[:3], "per_second", np.mean),
        "latency": of(KINDS[:3], "inside_ms", np.mean),
        "align_throughput": of(KINDS[3:], "per_second", np.mean),
        "align_latency": of(KINDS[3:], "inside_ms", np.mean),
        "align_repeats": lambda: claims.median(np.mean(trial) for trial in repeats(validation, KINDS[3:], "per_second")),
        "worst_throughput": of(KINDS, "per_second", max),
        "worst_latency": of(KINDS, "inside_ms", max),
    }


def draw_panel(axes, validation, kind, value):
    cells = pairs(validation, [kind])
    numbers = sorted({open_requests for open_requests, _, _ in cells})
    for cores, color in CORES.items():
        mine = [(open_requests, row) for open_requests, with_cores, row in cells if with_cores == cores]
        lines = [(number, np.median([row["simulated"][value] for open_requests, row in mine if open_requests == number]))
                 for number in numbers if any(open_requests == number for open_requests, _ in mine)]
        if not lines:
            continue
        axes.plot(*zip(*lines), "-", color=color, linewidth=1.2)
        for open_requests, row in mine:
            hollow = {"mfc": "none"} if (open_requests, cores) == CALIBRATED else {}
            axes.plot(open_requests, row["measured"][value], "o", markersize=4, alpha=0.7, color=color, **hollow)
    axes.set_xscale("log", base=2)
    axes.set_xticks(numbers, numbers)
    axes.minorticks_off()
    axes.margins(y=0.1)
    axes.set_ylim(bottom=0)


def draw(validation, _expected):
    kinds = [kind for kind in KINDS if any(kind_of(values) == kind for values, _ in validation.services())]
    figure, grid = plt.subplots(2, len(kinds), figsize=(3.1 * len(kinds) + 0.8, 5), sharex="col", squeeze=False)
    for column, kind in enumerate(kinds):
        for row, (value, label) in enumerate(VALUES.items()):
            draw_panel(grid[row, column], validation, kind, value)
            grid[row, 0].set_ylabel(label)
        grid[0, column].set_title(kind, loc="left")
        grid[1, column].set_xlabel("open requests")
    handles = [Line2D([], [], color=color, label=f"{cores} core{'s' * (cores > 1)}, simulated") for cores, color in CORES.items()]
    handles += [Line2D([], [], marker="o", ls="", color=style.INK, label="measured"),
                Line2D([], [], marker="o", ls="", mfc="none", color=style.INK, label="measured, with as many open and cores as in calibration")]
    style.legend_below(figure, handles, 4)
    return figure


if __name__ == "__main__":
    figures.main("fig_pipeline_fidelity", draw, measure, __doc__, load=SweptValidation)

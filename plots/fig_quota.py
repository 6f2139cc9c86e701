#!/usr/bin/env python3
"""Five programs by quota and by cpuset, with threads that follow or stay: throughput, 99th percentile, throttled time, a resize."""
import numpy as np

import claims
import figures
import style
from programs import mean_step, paired, program_of, shown, steps_of
from style import plt

PROGRAMS = {"cosched": "cosched", "pytorch": "PyTorch", "onnxruntime": "ONNX Runtime", "spin": "OpenMP, spinning",
            "passive": "OpenMP, sleeping"}
SHARES, CORES = "policy.scripted-shares", "policy.scripted"
# What is drawn: label, colour, marker, and which cells: actuator, elasticity, whether eight threads, rounded up or down.
SERIES = [("quota, threads follow (up)", "#0072B2", "o", ("quota", "malleable", False, "ceil")),
          ("quota, threads follow (down)", "#56B4E9", "v", ("quota", "malleable", False, "floor")),
          ("quota, a thread a core of the machine", "#D55E00", "o", ("quota", "rigid", False, "ceil")),
          ("quota, 8 threads", "#CC79A7", "^", ("quota", "rigid", True, "ceil")),
          ("cpuset, threads follow", "#009E73", "s", ("cpuset", "malleable", False, "ceil")),
          ("cpuset, a thread a core of the machine", "#E69F00", "s", ("cpuset", "rigid", False, "ceil")),
          ("cpuset, 8 threads", "#7a7a7a", "^", ("cpuset", "rigid", True, "ceil"))]
AFTER = ["quota, threads follow (up)", "quota, a thread a core of the machine", "cpuset, threads follow",
         "cpuset, a thread a core of the machine"]


def cells(sweep, program, timetable, actuator, elasticity, eight=False, rule="ceil"):
    """timetable: cores, a number; or as it is written."""
    found = []
    for point in sweep.points:
        values = point.values
        has_eight = any(key.startswith("workload.") and key.endswith(".threads") for key in values)
        table = str(values.get(f"{SHARES}.timetable", values.get(f"{CORES}.timetable")))
        wanted = timetable if isinstance(timetable, str) else f"0:{timetable:g}"
        if (program_of(point), table, values["machine.actuator"], has_eight, values.get(f"{SHARES}.threads", "ceil")) == (
                program, wanted, actuator, eight, rule):
            found += [cell for cell in point.run.cells if cell.elasticity == elasticity]
    return found


def resized_at(cell):
    grants = cell.table("grants")
    times = grants.loc[grants["kind"] == "granted", "time"].to_numpy()
    if len(times) < 2:
        raise claims.NotHere("the program ended before it was resized: raise its steps")
    return times[1]


def late_steps(cell):
    """Milliseconds of the steps that lie wholly after the resize."""
    steps = cell.table("steps")
    late = steps.loc[steps["time"] - steps["duration_ms"] / 1e3 >= resized_at(cell), "duration_ms"].to_numpy()
    if len(late) < 3:
        raise claims.NotHere("fewer than three steps came after the resize: raise its steps")
    return late


def mean_late(cell):
    return float(np.mean(late_steps(cell)))


def tail(cell):
    return float(np.percentile(steps_of(cell), 99))


def throttled(cell):
    """Seconds a second, summed over the CPUs on which it has threads: more than 1 where several are stopped at once."""
    samples = cell.table("samples").dropna(subset=["throttled_us"])
    if len(samples) < 2:
        raise claims.NotHere("throttled time is not recorded")
    return float(np.ptp(samples["throttled_us"]) / 1e6 / np.ptp(samples["time"]))


def compared(sweep, program, a, b, combine):
    """a, b: (function of a cell, arguments of cells); by trial, which were interleaved."""
    def by_trial(of, *which):
        values, why_not = {}, ""
        for cell in cells(sweep, program, *which):
            try:
                values[cell.trial] = of(cell)
            except claims.NotHere as reason:  # Of this trial: the others may tell.
                why_not = str(reason)
        return values, why_not

    (left, why_left), (right, why_right) = by_trial(*a), by_trial(*b)
    if not left.keys() & right.keys():
        raise claims.NotHere(why_left or why_right or sweep.why_left_out(program) or f"{PROGRAMS[program]} was not run so")
    return paired(left, right, combine)


def ratio(a, b):
    return a / b


def resize_of(sweep, actuator):
    """The timetable of the resize in mid-run, which is shorter with --quick."""
    key = f"{SHARES if actuator == 'quota' else CORES}.timetable"
    return next((text for text in map(str, sweep.values(key)) if " " in text), "none")


def measure(sweep):
    shrink, cut = resize_of(sweep, "cpuset"), resize_of(sweep, "quota")
    comparisons = {
        "stay_quota": ((mean_step, 1, "quota", "rigid"), (mean_step, 1, "quota", "malleable"), ratio),
        "stay_cpuset": ((mean_late, shrink, "cpuset", "rigid"), (mean_late, shrink, "cpuset", "malleable"), ratio),
        "eight": ((mean_step, 1, "cpuset", "rigid", True), (mean_step, 1, "cpuset", "malleable"), ratio),
        "cut": ((mean_late, cut, "quota", "rigid"), (mean_late, cut, "quota", "malleable"), ratio),
        "same": ((mean_late, shrink, "cpuset", "malleable"), (mean_step, 1, "cpuset", "malleable"), ratio),
        "p99": ((tail, 1, "quota", "malleable"), (tail, 1, "cpuset", "malleable"), ratio),
        "ceil": ((mean_step, 1.5, "quota", "malleable", False, "floor"), (mean_step, 1.5, "quota", "malleable"), ratio),
        "throttled": ((throttled, 0.5, "quota", "rigid"), (throttled, 0.5, "quota", "malleable"), lambda a, b: a - b),
    }
    return {f"{name}_{program}": lambda program=program, sides=sides: compared(sweep, program, *sides)
            for name, sides in comparisons.items() for program in PROGRAMS}


def draw_by_amount(axes, sweep, program, value):
    for label, color, marker, (actuator, *how) in SERIES:
        found = {cores: [value(cell) for cell in cells(sweep, program, cores, actuator, *how)] for cores in (0.5, 1, 1.5, 2)}
        found = {cores: values for cores, values in found.items() if values}
        if not found:
            continue
        axes.plot(list(found), [np.median(values) for values in found.values()], "-", marker=marker, color=color, linewidth=1.2,
                  markersize=5, label=label)
        for cores, values in found.items():
            axes.plot([cores] * len(values), values, marker, color=color, markersize=2.5, alpha=0.45)
    axes.set_xticks([0.5, 1, 1.5, 2])
    axes.set_xlim(0.35, 2.15)


def draw_after(axes, sweep, program):
    styles = {label: (color, marker, how) for label, color, marker, how in SERIES}
    for place, label in enumerate(AFTER):
        color, marker, (actuator, *how) = styles[label]
        values = []
        for cell in cells(sweep, program, resize_of(sweep, actuator), actuator, *how):
            try:
                values.append(mean_late(cell))
            except claims.NotHere:
                continue  # The claims say so.
        if values:
            axes.plot(place, np.median(values), marker, color=color, markersize=7)
            axes.plot(place + np.linspace(-0.15, 0.15, len(values)), values, marker, color=color, markersize=2.5, alpha=0.45)
    axes.set_xticks(range(len(AFTER)), ["follow", "stay", "follow", "stay"], fontsize=8)
    axes.set_xlim(-0.5, len(AFTER) - 0.5)
    axes.set_xlabel("quota 2 → 0.5     cpuset 2 → 1", fontsize=8)
    style.plain_log_axis(axes)


def draw(sweep, _expected):
    programs = shown(sweep, PROGRAMS)
    rows = [("steps a second", lambda cell: 1e3 / mean_step(cell)), ("99th percentile of a step [ms]", tail),
            ("throttled [s per s, all CPUs]", throttled)]
    figure, grid = plt.subplots(len(rows) + 1, len(programs), figsize=(1.2 + 2.9 * len(programs), 11), squeeze=False)
    for column, program in enumerate(programs):
        for axes, (label, value) in zip(grid[:, column], rows):
            if value is throttled:  # There is none without a quota.
                draw_throttled(axes, sweep, program)
            else:
                draw_by_amount(axes, sweep, program, value)
            axes.set_ylabel(label if column == 0 else "")
        grid[0, column].set_ylim(bottom=0)
        style.plain_log_axis(grid[1, column])
        grid[2, column].set_xlabel("CPU time [cores]")
        grid[0, column].set_title(PROGRAMS[program], loc="left")
        draw_after(grid[-1, column], sweep, program)
    grid[-1, 0].set_ylabel("step after a resize in mid-run [ms]")
    handles = {text: handle for axes in grid[0] for handle, text in zip(*axes.get_legend_handles_labels())}
    style.legend_below(figure, list(handles.values()), 3)
    figure.suptitle(f"Threads that follow the container, or stay   ({sweep.cores_here} cores; large: medians over trials)")
    return figure


def draw_throttled(axes, sweep, program):
    def value(cell):
        try:
            return throttled(cell)
        except claims.NotHere:
            return np.nan

    draw_by_amount(axes, sweep, program, value)
    axes.set_ylim(bottom=0)


if __name__ == "__main__":
    figures.main("fig_quota", draw, measure, __doc__)

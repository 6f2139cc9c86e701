#!/usr/bin/env python3
"""Programs that follow their grants, each in its way: how long a grant takes to have its effect, what it costs, and what is gained."""
import numpy as np

import claims
import figures
import style
from programs import mean_step, paired, program_of, shown
from style import plt

PROGRAMS = {"cosched": "cosched's engine", "pytorch": "PyTorch,\nthree lines", "onnxruntime": "ONNX Runtime,\na new session",
            "openmp": "OpenMP,\nits regions", "onetbb": "oneTBB,\nthree lines"}
TIMETABLE = "policy.scripted.timetable"
POLICIES = ["equal-share", "max-prop"]
METRICS = {"turnaround": "mean_turnaround_s", "makespan": "makespan_s"}
COLORS = {"grow": "#009E73", "shrink": "#D55E00", "equal-share": "#0072B2", "max-prop": "#E69F00"}


def points(sweep, program, resized=None):
    """Those of the trace; with resized=True that with a timetable that resizes, False those that keep all cores."""
    found = []
    for point in sweep.points:
        table = point.values.get(TIMETABLE)
        kind = None if table is None else " " in str(table)
        if program_of(point) == program and kind == resized:
            found.append(point)
    if not found:
        raise claims.NotHere(sweep.why_left_out(program) or f"{PROGRAMS[program]} was not run")
    return found


def one_line(program):
    return PROGRAMS[program].replace("\n", " ")


def taken(sweep, program, way):
    """By trial: the median time, in ms, until a grant of more (grow) or fewer (shrink) cores had its effect."""
    times = {}
    for point in points(sweep, program, resized=True):
        for cell in point.run.cells:
            resizes = cell.table("resizes")
            resizes = resizes[resizes["cause"] == "grant"]
            grew = resizes["inter_after"] * resizes["intra_after"] > resizes["inter_before"] * resizes["intra_before"]
            rows = resizes.loc[grew == (way == "grow"), "taken_us"]
            if len(rows):
                times[cell.trial] = float(np.median(rows)) / 1e3
    if not times:
        raise claims.NotHere(f"{one_line(program)} ended before it could follow a grant: raise its steps")
    return times


def both_ways(sweep, program):
    grow, shrink = taken(sweep, program, "grow"), taken(sweep, program, "shrink")
    return {trial: np.sqrt(grow[trial] * shrink[trial]) for trial in grow.keys() & shrink.keys()}


def fixed_step(sweep, program, elasticity):
    """By trial: the mean step on all cores."""
    return {cell.trial: mean_step(cell) for point in points(sweep, program, resized=False) for cell in point.run.cells
            if cell.elasticity == elasticity}


def gains(sweep, program, policy, metric):
    """By trial: rigid / malleable on the same trace."""
    table = points(sweep, program)[0].run.summary()
    rows = table[table["policy"] == policy]
    by = {elasticity: rows[rows["elasticity"] == elasticity].set_index("trial")[METRICS[metric]] for elasticity in ("rigid", "malleable")}
    return (by["rigid"] / by["malleable"]).dropna().to_dict()


def measure(sweep):
    measures = {}
    for program in PROGRAMS:
        def of(values, program=program):
            return lambda: claims.median(values(program).values())

        def against(values, other, program=program):
            return lambda: paired(values(program), values(other))

        for way in ("grow", "shrink"):
            measures[f"{way}_{program}"] = of(lambda name, way=way: taken(sweep, name, way))
        measures[f"slower_{program}"] = against(lambda name: both_ways(sweep, name), "cosched")
        measures[f"cost_{program}"] = lambda program=program: paired(fixed_step(sweep, program, "malleable"),
                                                                     fixed_step(sweep, program, "rigid"))
        for metric in METRICS:
            for policy in POLICIES:
                measures[f"{metric}_{policy}_{program}"] = of(
                    lambda name, policy=policy, metric=metric: gains(sweep, name, policy, metric))
        measures[f"advantage_{program}"] = lambda program=program: paired(
            gains(sweep, "cosched", "equal-share", "turnaround"), gains(sweep, program, "equal-share", "turnaround"))
    return measures


def draw_groups(axes, programs, series, values):
    """A group of dots a program, a column a series; the line is their median."""
    for place, program in enumerate(programs):
        for shift, name in zip(np.linspace(-0.2, 0.2, len(series)), series):
            try:
                found = list(values(program, name).values())
            except claims.NotHere:
                continue  # The claims say so.
            if not found:
                continue
            axes.plot([place + shift] * len(found), found, "o", color=COLORS.get(name, "#0072B2"), markersize=4, alpha=0.55)
            axes.plot(place + shift + np.array([-0.1, 0.1]), [np.median(found)] * 2, "-", color=COLORS.get(name, "#0072B2"), linewidth=2,
                      label=name if place == 0 and len(series) > 1 else None)
    axes.set_xticks(range(len(programs)), [PROGRAMS[program] for program in programs], fontsize=8)
    axes.set_xlim(-0.5, len(programs) - 0.5)


def draw(sweep, _expected):
    programs = shown(sweep, PROGRAMS)
    figure, grid = plt.subplots(2, 2, figsize=(11, 7.5))
    effect, cost, turnaround, makespan = grid.flat
    draw_groups(effect, programs, ["grow", "shrink"], lambda program, way: taken(sweep, program, way))
    style.plain_log_axis(effect)
    effect.set_title("until a grant takes effect [ms]", loc="left")

    def change(program, _):
        without = fixed_step(sweep, program, "rigid")
        return {trial: 100 * (step / without[trial] - 1) for trial, step in fixed_step(sweep, program, "malleable").items()
                if trial in without}

    draw_groups(cost, programs, ["cost"], change)
    cost.axhline(0, color="#888888", linewidth=0.8)
    cost.axhspan(-1, 1, color="#009E73", alpha=0.10, linewidth=0)
    cost.set_title("cost where nothing changes [%]   (shaded: 1 %)", loc="left")
    for axes, metric, label in ((turnaround, "turnaround", "mean turnaround"), (makespan, "makespan", "makespan")):
        draw_groups(axes, programs, POLICIES, lambda program, policy, metric=metric: gains(sweep, program, policy, metric))
        axes.axhline(1, color="#888888", linewidth=0.8)
        axes.set_title(f"{label}, rigid / malleable", loc="left")
    for axes in (effect, turnaround):
        axes.legend(loc="best", frameon=True, edgecolor="none")
    figure.suptitle("Ways to follow a grant   (dots: trials; lines: medians)")
    return figure


if __name__ == "__main__":
    figures.main("fig_frameworks", draw, measure, __doc__)

#!/usr/bin/env python3
"""Step time and active threads over time of a job whose inter- or intra-op threads are resized, against static jobs."""
import numpy as np

import claims
import figures
import style
from style import plt

KEY = "policy.scripted.timetable"
PHASES = ["full", "shrunk", "regrown"]
POOLS = {"intra": "intra-op threads", "inter": "inter-op threads"}
RESIZED, STATIC, STATIC_ONE = "#D55E00", "#0072B2", "#009E73"
FEWEST_STEPS = 5  # Of a phase.
RESOLUTION_S = 0.05  # After a resize: the timetable's tick and the settling.


def timetables(sweep):
    """The timetable of each pool, and the one of a job that has one thread all the time."""
    found = {"one": next((t for t in sweep.values(KEY) if " " not in t), None)}
    for pool, full in (("intra", ":1xall"), ("inter", ":allx1")):
        found[pool] = next((t for t in sweep.values(KEY) if " " in t and t.split()[0].endswith(full)), None)
    return found


def phases(cell):
    """Step times of the malleable job by phase; a step counts where it lies wholly within one."""
    grants = cell.table("grants")
    begins = [*grants.loc[grants["kind"] == "granted", "time"], np.inf]
    steps = cell.steady_steps()
    begun = steps["time"] - steps["duration_ms"] / 1e3
    return {name: steps.loc[(begun >= begins[i] + RESOLUTION_S) & (steps["time"] <= begins[i + 1]), "duration_ms"].to_numpy()
            for i, name in enumerate(PHASES) if i + 1 < len(begins)}


def trials_of(sweep, pool):
    """A dict of step times a trial: the phases of the resized job, and the static ones `static_full` and `static_one`."""
    tables = timetables(sweep)
    trials = {}
    for elasticity, table, key in (("malleable", pool, None), ("moldable", pool, "static_full"), ("moldable", "one", "static_one")):
        for cell in sweep.cells(elasticity, timetable=tables[table]) if tables[table] else []:
            values = phases(cell) if key is None else {key: cell.steady_steps()["duration_ms"].to_numpy()}
            trials.setdefault(cell.trial, {}).update(values)
    needed = [*PHASES, "static_full", "static_one"]
    whole = [trial for trial in trials.values() if all(len(trial.get(name, ())) >= FEWEST_STEPS for name in needed)]
    if not whole:
        raise claims.NotHere(f"no trial has {FEWEST_STEPS} steps in each phase: raise workload.resnet20.steps or move the times")
    return whole


def ratio(sweep, pool, phase, reference):
    return claims.median(np.median(trial[phase]) / np.median(trial[reference]) for trial in trials_of(sweep, pool))


def measure(sweep):
    measures = {}
    for pool in POOLS:
        measures[f"{pool}_shrunk"] = lambda pool=pool: ratio(sweep, pool, "shrunk", "static_one")
        measures[f"{pool}_regrown"] = lambda pool=pool: ratio(sweep, pool, "regrown", "static_full")
        measures[f"{pool}_slowdown"] = lambda pool=pool: ratio(sweep, pool, "shrunk", "full")
    return measures


def draw_pool(sweep, pool, step_axes, thread_axes):
    table = timetables(sweep)[pool]
    cells = sweep.cells("malleable", timetable=table)
    statics = [(sweep.cells("moldable", timetable=table), STATIC, "static, all threads"),
               (sweep.cells("moldable", timetable=timetables(sweep)["one"]), STATIC_ONE, "static, 1 thread")]
    top = 0
    for number, cell in enumerate(cells):
        steps = cell.steady_steps()
        step_axes.plot(steps["time"], steps["duration_ms"], "o", markersize=2.5, color=RESIZED, alpha=0.9 if number == 0 else 0.3,
                       label="resized" if number == 0 else None)
        top = max(top, steps["duration_ms"].quantile(0.97))
    for static, color, label in statics:
        if not static:
            continue
        median = np.median(np.concatenate([cell.steady_steps()["duration_ms"] for cell in static]))
        step_axes.axhline(median, color=color, linewidth=1.2, linestyle=(0, (5, 2)), label=f"{label} ({median:.1f} ms)")
        top = max(top, 1.1 * median)
    step_axes.set_ylim(0, 1.25 * top)
    samples, grants = cells[0].table("samples"), cells[0].table("grants")
    thread_axes.step(samples["time"], samples["compute_threads"], where="post", color=RESIZED, linewidth=1.4)
    thread_axes.set_ylim(0, samples["compute_threads"].max() + 0.5)
    thread_axes.yaxis.set_major_locator(plt.MaxNLocator(integer=True, nbins=5))
    for axes in (step_axes, thread_axes):
        for time in grants.loc[grants["kind"] == "granted", "time"].iloc[1:]:
            axes.axvline(time, color="#888888", linewidth=0.9)
    step_axes.set_title(f"{POOLS[pool]}: all, 1, all", loc="left")
    thread_axes.set_xlabel("time since the job's arrival [s]")


def draw(sweep, expected):
    figure, grid = plt.subplots(2, 2, figsize=(9.5, 4.6), sharex="col", height_ratios=[3, 1])
    for column, pool in enumerate(POOLS):
        draw_pool(sweep, pool, grid[0, column], grid[1, column])
    grid[0, 0].set_ylabel("step time [ms]")
    grid[1, 0].set_ylabel("active threads")
    for axes in grid[0]:
        axes.legend(loc="lower right", frameon=True, edgecolor="none")
    figure.suptitle("Resized in mid-run against static   (dots: steps, the first trial darker; dashed: medians)")
    return figure


if __name__ == "__main__":
    figures.main("fig_elasticity", draw, measure, __doc__)

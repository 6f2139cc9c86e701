#!/usr/bin/env python3
"""Throughput of pipelines for each number of calls side by side, threads in a call and open requests, against the best of them."""
import numpy as np

import claims
import figures
import style
from style import plt

KINDS = {"increment": "equal stages that compute", "waiting": "equal stages that wait", "align-sort": "align-sort"}
COUNTED = 36  # Requests, the last ones: there are as many inside as may be, and "auto" has searched.
AUTO = "auto"
DEFAULT = "2x2"  # As many calls as cores, and as many threads in each as find a core.


def rate(cell):
    rows = cell.table("requests").sort_values("finished").tail(COUNTED)
    return (len(rows) - 1) / (rows["finished"].iloc[-1] - rows["finished"].iloc[0])


def kind_of(point):
    return "waiting" if float(point.values.get("workload.0.wait_ms", 0)) > 0 else point.values["workload.0.pipeline"]


def is_auto(point):
    return point.values.get("workload.0.split") == AUTO


def rates(sweep, kind):
    """By (split, open): requests a second by trial."""
    found = {}
    for point in sweep.points:
        if kind_of(point) == kind and not is_auto(point):
            split = point.values["policy.scripted.timetable"].split(":")[-1]
            found[split, int(point.values["workload.0.open"])] = {cell.trial: rate(cell) for cell in point.run.cells}
    if not found:
        raise claims.NotHere(sweep.why_left_out(kind) or f"there is no run of {kind}")
    return found


def auto_rates(sweep, kind):
    """By trial."""
    for point in sweep.points:
        if kind_of(point) == kind and is_auto(point):
            return {cell.trial: rate(cell) for cell in point.run.cells}
    raise claims.NotHere(sweep.why_left_out(kind) or f"there is no run of {kind} that searches")


def trials(found):
    """Those that all settings have."""
    return sorted(set.intersection(*(set(values) for values in found.values())))


def best(found, of=lambda setting: True):
    """The setting with the best median: chosen once, as the best of each trial would be above all of them by noise alone."""
    return max(filter(of, found), key=lambda setting: np.median(list(found[setting].values())))


def worst_by_best(found, split):
    """By trial: the worst, over numbers of open requests, of a split's speed by that number's best."""
    numbers = {number for _, number in found}
    bests = {number: best(found, lambda setting, number=number: setting[1] == number) for number in numbers}
    return [min(found[split, number][trial] / found[bests[number]][trial] for number in numbers) for trial in trials(found)]


def measure(sweep):
    def of(kind, splits):
        def estimate():
            found = rates(sweep, kind)
            shares = [worst_by_best(found, split) for split in splits or {split for split, _ in found}]
            return claims.median(100 * (1 - share) for share in max(shares, key=np.median))
        return estimate

    def gain(kind):
        def estimate():
            found = rates(sweep, kind)
            return claims.median(found[best(found)][trial] / found["1x1", 1][trial] for trial in trials(found))
        return estimate

    def searched(kind):
        def estimate():
            found, ours = rates(sweep, kind), auto_rates(sweep, kind)
            return claims.median(100 * (1 - ours[trial] / found[best(found)][trial]) for trial in trials(found) if trial in ours)
        return estimate

    measures = {}
    for kind in KINDS:
        name = kind.replace("-", "_")
        measures |= {f"{name}_default": of(kind, {DEFAULT}), f"{name}_one_split": of(kind, None), f"{name}_gain": gain(kind), f"{name}_auto": searched(kind)}
    return measures


def draw_kind(axes, sweep, kind):
    found = rates(sweep, kind)
    splits, numbers = sorted({split for split, _ in found}), sorted({number for _, number in found})
    grid = np.array([[np.median(list(found[split, number].values())) for number in numbers] for split in splits])
    image = axes.imshow(100 * grid / grid.max(), vmin=40, vmax=100, cmap="YlGnBu", aspect="auto")
    for row, column in np.ndindex(grid.shape):
        share = grid[row, column] / grid.max()
        best = grid[row, column] == grid[:, column].max()
        axes.text(column, row, f"{grid[row, column]:.1f}/s", ha="center", va="center", weight="bold" if best else "normal",
                  color="white" if share > 0.8 else style.INK)
    axes.set_xticks(range(len(numbers)), numbers)
    axes.set_yticks(range(len(splits)), splits)
    axes.set_xlabel("open requests")
    auto = np.median(list(auto_rates(sweep, kind).values()))
    axes.set_title(f"{KINDS[kind]}   (auto: {auto:.1f}/s, {100 * auto / grid.max():.0f} %)", loc="left")
    axes.grid(visible=False)
    return image


def draw(sweep, _expected):
    kinds = [kind for kind in KINDS if any(kind_of(point) == kind for point in sweep.points)]
    figure, grid = plt.subplots(1, len(kinds), figsize=(4.2 * len(kinds) + 1, 3.4), squeeze=False)
    for axes, kind in zip(grid[0], kinds):
        image = draw_kind(axes, sweep, kind)
    grid[0, 0].set_ylabel("calls side by side x threads in each")
    figure.colorbar(image, ax=grid, label="% of the best of all")
    figure.suptitle("Requests a second on two cores, medians   (bold: the best for so many open requests)")
    return figure


if __name__ == "__main__":
    figures.main("fig_pipeline_joint", draw, measure, __doc__)

#!/usr/bin/env python3
"""A pipeline on simulated machines, some of which merge: what open requests gain, at which latency, and throughput by machines."""
import numpy as np

import claims
import figures
import style
from style import plt

GAIN, LATENCY = 4, 1.13  # Published.
LEFT_OUT = 12  # Requests at the begin, until there are as many inside as may be.
ALL = 20
WORK = "trace.requests.0.work.distribution"  # Of requests whose sizes vary.
CHUNKS, READS, BASES = 320, 100_000, 101  # A request's chunks, their reads, and bases of each.
COLORS = ["#7a7a7a", "#E69F00", "#0072B2", "#009E73", "#D55E00"]
OPEN_COLORS = {1: "#7a7a7a", 2: "#56B4E9", 4: "#0072B2", 8: "#D55E00"}


class Shape:
    """Machines that align and that merge, and how long a merge computes, in seconds."""

    def __init__(self, point):
        self.align, self.merge = (int(point.values[f"simulation.cluster.machines.{group}.count"]) for group in (0, 1))
        self.merge_s = float(point.values["workload.0.merge_ms"]) / 1e3
        self.sizes_vary = WORK in point.values

    def key(self):
        return self.align, self.merge, self.merge_s


def counted(cell):
    return cell.table("requests").sort_values("finished").iloc[LEFT_OUT:]


def rate(cell):
    """Requests a second, and how long one was inside: median and mean, in seconds."""
    rows = counted(cell)
    per_second = (len(rows) - 1) / (rows["finished"].iloc[-1] - rows["finished"].iloc[0])
    inside = (rows["finished"] - rows["started"]).astype(float)
    return per_second, float(inside.median()), float(inside.mean())


def rates(sweep):
    """By shape and open requests: by trial. Of requests that are equal."""
    if not hasattr(sweep, "rates"):
        sweep.rates = {(Shape(point).key(), int(point.values["workload.0.open"])): {cell.trial: rate(cell) for cell in point.run.cells}
                       for point in sweep.points if not Shape(point).sizes_vary}
    return sweep.rates


def of_sizes(sweep):
    """Of requests whose sizes vary, by how long a merge takes and open requests: by trial, chunks a second and by number of a request the
    time for which it was inside, in seconds."""
    if not hasattr(sweep, "of_sizes"):
        sweep.of_sizes = {}
        for point in sweep.points:
            if not Shape(point).sizes_vary:
                continue
            here = sweep.of_sizes[Shape(point).merge_s, int(point.values["workload.0.open"])] = {}
            for cell in point.run.cells:
                rows = counted(cell)
                chunks = CHUNKS * rows["work"].iloc[1:].sum() / (rows["finished"].iloc[-1] - rows["finished"].iloc[0])
                here[cell.trial] = chunks, (rows["finished"] - rows["started"]).set_axis(rows["request_id"])
    return sweep.of_sizes


def gains_of_sizes(sweep, trial):
    """(merge_s, open, gain, latency, its 95th percentile): a request's latency is against itself with one open request."""
    found = of_sizes(sweep)
    for (merge_s, open_requests), values in found.items():
        one, ours = found[merge_s, 1][trial], values[trial]
        slower = (ours[1] / one[1]).dropna()
        yield merge_s, open_requests, ours[0] / one[0], float(slower.median()), float(slower.quantile(0.95))


def gains(sweep, trial):
    """(align, merge, merge_s, open, gain, latency) of all shapes of all machines, against one open request."""
    found = rates(sweep)
    for (shape, open_requests), values in found.items():
        if sum(shape[:2]) == ALL and trial in values and trial in found[shape, 1]:
            one, ours = found[shape, 1][trial], values[trial]
            yield (*shape, open_requests, ours[0] / one[0], ours[1] / one[1])


def trials(sweep):
    return sorted(next(iter(rates(sweep).values())))


def of_trials(sweep, value):
    return claims.median(value(list(gains(sweep, trial)), trial) for trial in trials(sweep))


def largest(cells, merging, latency=np.inf):
    """Of that many machines that merge, the largest gain up to that latency."""
    return max(cell[4] for cell in cells if cell[1] == merging and cell[5] <= latency)


def throughput(sweep, trial, machines, open_requests):
    """Of a fifth that merges: the mean over merges of requests a second."""
    found = [values[trial][0] for (shape, number), values in rates(sweep).items()
             if number == open_requests and sum(shape[:2]) == machines and 5 * shape[1] == machines]
    if not found:
        raise claims.NotHere(f"there is no run of {machines} machines")
    return float(np.mean(found))


def little(sweep, trial):
    return max(100 * abs(values[trial][0] * values[trial][2] / open_requests - 1) for (_, open_requests), values in rates(sweep).items())


def measure(sweep):
    merging = range(1, 6)
    return {
        "gain_3": lambda: of_trials(sweep, lambda cells, _: largest(cells, 3, LATENCY)),
        "gain_5": lambda: of_trials(sweep, lambda cells, _: largest(cells, 5, LATENCY)),
        "gain_2": lambda: of_trials(sweep, lambda cells, _: largest(cells, 2)),
        "sizes": lambda: claims.median(max(cell[2] for cell in gains_of_sizes(sweep, trial) if cell[3] <= LATENCY) for trial in trials(sweep)),
        "sizes_tail": lambda: claims.median(max(cell[4] for cell in gains_of_sizes(sweep, trial) if cell[1] == 4) for trial in trials(sweep)),
        "bound": lambda: of_trials(sweep, lambda cells, _: max(largest(cells, count) / (1 + count) for count in merging)),
        "little": lambda: of_trials(sweep, lambda _, trial: little(sweep, trial)),
        "scale": lambda: of_trials(sweep, lambda _, trial: throughput(sweep, trial, ALL, 8) / throughput(sweep, trial, 5, 8)),
        "scale_one": lambda: of_trials(sweep, lambda _, trial: throughput(sweep, trial, ALL, 1) / throughput(sweep, trial, 5, 1)),
    }


def medians(sweep, cells=gains, keys=4):
    """Cells of gains() or gains_of_sizes(), all behind their keys medians over the trials."""
    by_cell = {}
    for trial in trials(sweep):
        for cell in cells(sweep, trial):
            by_cell.setdefault(cell[:keys], []).append(cell[keys:])
    return [(*key, *np.median(values, axis=0)) for key, values in by_cell.items()]


def medians_of_sizes(sweep):
    return medians(sweep, gains_of_sizes, keys=2)


def draw_cloud(axes, cells, sizes):
    axes.fill_between([0.9, LATENCY], GAIN, 7, color="#e4f1e4", lw=0)
    for merging, color in zip(range(1, 6), COLORS):
        for merge_s in sorted({cell[2] for cell in cells}):
            line = sorted((cell[3], cell[5], cell[4]) for cell in cells if cell[1] == merging and cell[2] == merge_s)
            axes.plot([latency for _, latency, _ in line], [gain for _, _, gain in line], "o-", markersize=3, linewidth=0.8, color=color,
                      label=f"{merging} merging" if merge_s == min(cell[2] for cell in cells) else None)
    for merge_s in sorted({cell[0] for cell in sizes}):
        line = sorted((cell[1], cell[3], cell[2]) for cell in sizes if cell[0] == merge_s)
        axes.plot([latency for _, latency, _ in line], [gain for _, _, gain in line], "s--", markersize=3, linewidth=0.8, color=style.INK,
                  label="3 merging, of many sizes" if merge_s == min(cell[0] for cell in sizes) else None)
    axes.plot(LATENCY, GAIN, "*", markersize=13, color=style.INK, label="published")
    axes.set_xlim(0.95, 3)
    axes.set_ylim(0.9, 6.2)
    axes.set_xlabel("time inside, by that with one open request [x]")
    axes.set_title("throughput, by that with one open request [x]", loc="left")


def draw_where(axes, cells):
    merges = sorted({cell[2] for cell in cells})
    for row, merging in enumerate(range(1, 6)):
        for column, merge_s in enumerate(merges):
            mine = [cell for cell in cells if cell[1] == merging and cell[2] == merge_s and cell[5] <= LATENCY]
            best = max(mine, key=lambda cell: cell[4])
            holds = best[4] >= GAIN
            axes.fill_between([column - 0.5, column + 0.5], row - 0.5, row + 0.5, color="#bfe3bf" if holds else "#f3e3dc", lw=0)
            axes.text(column, row, f"{best[4]:.1f}x\n{best[3]} open", ha="center", va="center", fontsize=8, weight="bold" if holds else "normal")
    axes.set_xlim(-0.5, len(merges) - 0.5)
    axes.set_ylim(4.5, -0.5)
    axes.set_xticks(range(len(merges)), [f"{merge_s:g}" for merge_s in merges])
    axes.set_yticks(range(5), range(1, 6))
    axes.grid(visible=False)
    axes.set_xlabel("computing of a merge [s]")
    axes.set_ylabel("machines that merge, of 20")
    axes.set_title(f"most throughput at latency <= {LATENCY}x", loc="left")


def draw_scale(axes, sweep):
    machines = [count for count in (5, 10, 15, 20)]
    scale = CHUNKS * READS * BASES / 1e6
    for open_requests, color in OPEN_COLORS.items():
        values = [[scale * throughput(sweep, trial, count, open_requests) for trial in trials(sweep)] for count in machines]
        axes.plot(machines, np.median(values, axis=1), "o-", color=color, markersize=4, label=f"{open_requests} open")
    axes.set_xlim(0, 21)
    axes.set_xticks(machines)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("machines, a fifth of them merging")
    axes.set_title("million bases a second", loc="left")
    axes.legend(loc="upper left", frameon=True, edgecolor="none")


def draw(sweep, _expected):
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2))
    cells = medians(sweep)
    draw_cloud(axes[0], cells, medians_of_sizes(sweep))
    draw_where(axes[1], cells)
    draw_scale(axes[2], sweep)
    style.legend_below(figure, axes[0].get_legend_handles_labels()[0], 7)
    figure.suptitle("Simulated with stated costs, of which none is fitted")
    return figure


def notes(sweep, _expected):
    cells = [cell for cell in medians(sweep) if cell[4] >= GAIN and cell[5] <= LATENCY]
    return [f"{GAIN}x at {LATENCY}x latency or less, in {len(cells)} of {len(medians(sweep))} cells:"] + [
        f"  {merging} of {ALL} machines merge, for {merge_s:g} s, {open_requests} open: {gain:.2f}x at {latency:.2f}x"
        for _, merging, merge_s, open_requests, gain, latency in sorted(cells)] + [
        "requests of many sizes, 3 of 20 machines merge; each request against itself with one open:"] + [
        f"  merges of {merge_s:g} s for {CHUNKS} chunks, {open_requests} open: {gain:.2f}x at {latency:.2f}x, of one in twenty at {tail:.1f}x or more"
        for merge_s, open_requests, gain, latency, tail in sorted(medians_of_sizes(sweep))]


if __name__ == "__main__":
    figures.main("fig_pipeline_scaleout", draw, measure, __doc__, notes)

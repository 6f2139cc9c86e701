#!/usr/bin/env python3
"""A trace as `cosched trace describe` found it: rate over time, times between arrivals, autocorrelation of the counts."""
import argparse
import json
import sys
from pathlib import Path

import numpy as np

import style
from style import plt

LINE = "#0072B2"
REFERENCE = "#D55E00"
AREA = "#56B4E9"
MOST_BINS, FEWEST_BINS = 400, 40  # Of the rate over time: more is a black band.
ARRIVALS_PER_BIN = 8  # On average, where there are more than the fewest bins: the rate of few is noise.
MOST_LAGS = 500
RATE_UNITS = [("second", 1.0), ("minute", 60.0), ("hour", 3600.0), ("day", 86400.0)]
TIME_UNITS = [("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)]


def time_unit(seconds):
    """(name, seconds) of the unit in which so long a time is a number of one to three digits."""
    for name, size in TIME_UNITS:
        if seconds >= 2 * size:
            return name, size
    return TIME_UNITS[-1]


def figure_text(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def time_text(seconds):
    for name, size in TIME_UNITS:
        if seconds >= size:
            return f"{figure_text(seconds / size)} {name}"
    return f"{seconds:.3g} s"


def rate_unit(per_second):
    """(name, seconds) of the shortest unit in which so high a rate is at least 1."""
    for name, size in RATE_UNITS:
        if per_second * size >= 1:
            return name, size
    return RATE_UNITS[-1]


def merged(counts, width, most):
    """Counts in at most `most` bins of equal width, and that width."""
    together = -(-len(counts) // most)
    padded = np.concatenate([counts, np.zeros(-len(counts) % together)])
    return padded.reshape(-1, together).sum(axis=1), width * together


def draw_rate(axes, trace):
    most = min(MOST_BINS, max(FEWEST_BINS, trace["arrivals"] // ARRIVALS_PER_BIN))
    counts, width = merged(np.array(trace["rate"]["arrivals"], dtype=float), trace["rate"]["width_s"], most)
    span = trace["span_s"]
    name, unit = time_unit(span)
    edges = np.minimum(np.arange(len(counts) + 1) * width, span)
    extents = np.diff(edges)
    whole = extents > 0.5 * width  # The rest of a bin at the end says little.
    counts, extents = counts[whole], extents[whole]
    edges = edges[:len(counts) + 1]
    per, per_seconds = rate_unit((counts / extents).max())
    rates = counts / extents * per_seconds
    mean = trace["mean_rate_per_s"] * per_seconds
    axes.stairs(rates, edges / unit, fill=True, color=AREA, alpha=0.45)
    axes.stairs(rates, edges / unit, color=LINE, linewidth=0.8, baseline=None)
    axes.axhline(mean, color=REFERENCE, linewidth=1, linestyle=(0, (5, 2)), label=f"mean {mean:.4g} a {per}")
    axes.set_xlim(0, span / unit)
    axes.set_ylim(0, 1.18 * rates.max())
    axes.set_xlabel(f"time since the first arrival [{name}]")
    axes.set_ylabel(f"arrivals per {per}")
    axes.set_title(f"Rate over time, in bins of {time_text(width)}", loc="left")
    axes.legend(loc="upper right")


def draw_gaps(axes, trace):
    """Share of gaps that are longer, beside the exponential distribution (a Poisson process) of the same mean."""
    gaps = trace["between_arrivals"]
    points = np.array([point for point in gaps["share_above"] if point[0] > 0 and point[1] > 0])
    axes.set_title("Time between arrivals", loc="left")
    if len(points) < 2:
        longest = time_text(gaps["max"])
        axes.text(0.5, 0.5, f"all gaps are {longest}" if gaps["cv"] == 0 else f"all gaps are 0 or {longest}", ha="center",
                  va="center", transform=axes.transAxes)
        axes.set_axis_off()
        return
    name, unit = time_unit(gaps["mean"] / 50)
    lowest = 0.5 / gaps["count"]
    times = np.geomspace(points[0, 0], max(points[-1, 0], gaps["max"]), 400)
    poisson = np.exp(-times / gaps["mean"])
    axes.loglog(times[poisson > lowest] / unit, poisson[poisson > lowest], color=REFERENCE, linewidth=1.2,
                linestyle=(0, (5, 2)), label="Poisson, same mean", zorder=3)
    axes.loglog(points[:, 0] / unit, points[:, 1], color=LINE, linewidth=1.5, label=f"this trace, CV {gaps['cv']:.3g}")
    axes.set_ylim(lowest, 1.6)
    axes.set_xlabel(f"gap [{name}]")
    axes.set_ylabel("share of gaps that are longer")
    axes.legend(loc="lower left")


def autocorrelation(counts, lags):
    centred = counts - counts.mean()
    variance = (centred ** 2).mean()
    if variance == 0:
        return np.zeros(lags)
    return np.array([(centred[:-lag] * centred[lag:]).sum() / len(centred) for lag in range(1, lags + 1)]) / variance


def draw_autocorrelation(axes, trace):
    counts, width = merged(np.array(trace["rate"]["arrivals"], dtype=float), trace["rate"]["width_s"],
                           max(FEWEST_BINS, trace["arrivals"]))
    lags = min(MOST_LAGS, len(counts) // 4)
    axes.set_title(f"Autocorrelation of the counts in bins of {time_text(width)}", loc="left")
    if lags < 2 or counts.std() == 0:
        axes.text(0.5, 0.5, "too few bins" if lags < 2 else "all counts are equal", ha="center", va="center",
                  transform=axes.transAxes)
        axes.set_axis_off()
        return
    values = autocorrelation(counts, lags)
    name, unit = time_unit(lags * width)
    at = np.arange(1, lags + 1) * width / unit
    limit = 1.96 / np.sqrt(len(counts))
    axes.fill_between(at, 0, values, color=AREA, alpha=0.45, linewidth=0)
    axes.plot(at, values, color=LINE, linewidth=1)
    for sign in (-1, 1):
        axes.axhline(sign * limit, color=REFERENCE, linewidth=1, linestyle=(0, (5, 2)),
                     label="95 % of independent counts" if sign > 0 else None)
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set_xlim(0, at[-1])
    axes.set_ylim(min(-2 * limit, 1.1 * values.min()), max(3 * limit, 1.15 * values.max()))
    axes.set_xlabel(f"lag [{name}]")
    axes.set_ylabel("correlation")
    axes.legend(loc="upper right")


def draw(trace):
    figure = plt.figure(figsize=(9, 5.6))
    grid = figure.add_gridspec(2, 2, height_ratios=[1.1, 1])
    draw_rate(figure.add_subplot(grid[0, :]), trace)
    draw_gaps(figure.add_subplot(grid[1, 0]), trace)
    draw_autocorrelation(figure.add_subplot(grid[1, 1]), trace)
    figure.suptitle(f"{Path(trace['file']).name} ({trace['format']}): {trace['arrivals']:,} arrivals in "
                    f"{time_text(trace['span_s'])}")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("description", metavar="DESCRIPTION", help="what cosched trace describe --json printed")
    parser.add_argument("--out", metavar="F", required=True, help="F.png and F.pdf are written")
    arguments = parser.parse_args()
    out = Path(arguments.out)
    if out.suffix in (".png", ".pdf"):
        out = out.with_suffix("")
    try:
        trace = json.loads(Path(arguments.description).read_text(encoding="utf-8"))
        if trace["arrivals"] < 2 or trace["span_s"] <= 0:
            sys.exit(f"trace_description.py: {trace['file']}: nothing to draw: its arrivals have no extent in time")
        style.save(draw(trace), out)
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"trace_description.py: {arguments.description}: {error!r}")


if __name__ == "__main__":
    main()

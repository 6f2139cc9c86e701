#!/usr/bin/env python3
"""Speed of cosched, ONNX Runtime and PyTorch relative to the peer that the target is about: a panel a mode and thread count.

Reads RUN/peers.csv, which experiments/peers/compare.sh writes.
"""
import argparse
import sys
from pathlib import Path

import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "experiments" / "peers"))
import cells  # noqa: E402  (the path must be set first)
from style import INK, legend_below, save  # noqa: E402

COLORS = {"cosched": "#0072B2", "onnxruntime": "#E69F00", "pytorch": "#D55E00"}
NAMES = {"cosched": "cosched", "onnxruntime": "ONNX Runtime", "pytorch": "PyTorch"}
MARKERS = {"cosched": "o", "onnxruntime": "s", "pytorch": "^"}
TICKS = [0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32]
SHIFTS = {"cosched": 0.0, "onnxruntime": -0.22, "pytorch": 0.22}  # Beside each other where values are equal.


def panels(measured):
    """{(mode, threads): {cell: systems}} of the cells that have the peer that they are relative to."""
    found = {}
    for cell, systems in measured.items():
        if cells.PEER[cell.mode] in systems:
            found.setdefault((cell.mode, cell.threads), {})[cell] = systems
    return found


def draw_panel(axes, mode, threads, shown):
    for row, systems in enumerate(shown.values()):
        base = systems[cells.PEER[mode]].median
        for system, result in systems.items():
            if system not in NAMES:
                continue  # Another build of cosched: its table is for that.
            relative = [speed / base for speed in result.speeds]
            y, color = row + SHIFTS[system], COLORS[system]
            axes.plot([min(relative), max(relative)], [y, y], color=color, lw=1, alpha=0.6)
            axes.plot(result.median / base, y, marker=MARKERS[system], ms=5, ls="", mew=0, color=color)
    axes.axvline(1, color=INK, lw=0.8)
    if cells.TARGET[mode] != 1:
        axes.axvline(cells.TARGET[mode], color=INK, lw=0.8, ls=":")
    axes.set_yticks(range(len(shown)), [f"{cell.model} {cell.batch}" for cell in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xscale("log", base=2)
    low, high = axes.get_xlim()
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel(f"images/s relative to {NAMES[cells.PEER[mode]]}")
    axes.set_title(f"{cells.TITLES[mode]}, {threads} thread{'s' if threads > 1 else ''}", loc="left")


def draw(measured):
    shown = panels(measured)
    if not shown:
        raise ValueError("no cell was measured with the peer that speeds are relative to")
    rows = max(len(panel) for panel in shown.values())
    figure, axes = plt.subplots(1, len(shown), figsize=(1 + 3.1 * len(shown), 1.4 + 0.22 * rows), squeeze=False)
    for panel, ((mode, threads), chosen) in zip(axes[0], shown.items()):
        draw_panel(panel, mode, threads, chosen)
    systems = [system for system in cells.SYSTEMS if any(system in found for panel in shown.values() for found in panel.values())]
    handles = [plt.Line2D([], [], marker=MARKERS[system], ls="", color=COLORS[system], label=NAMES[system]) for system in systems]
    if any(cells.TARGET[mode] != 1 for mode, _ in shown):
        handles.append(plt.Line2D([], [], color=INK, lw=0.8, ls=":", label="target"))
    legend_below(figure, handles, len(handles))
    figure.suptitle("Beside each other: median and range of the turns (model, images a run)")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", metavar="RUN", help="what compare.sh wrote: results/peers/<time>")
    parser.add_argument("--out", metavar="F", help="F.png and F.pdf are written; default RUN/plots/peers")
    arguments = parser.parse_args()
    out = Path(arguments.out) if arguments.out else Path(arguments.run) / "plots" / "peers"
    try:
        save(draw(cells.read(Path(arguments.run) / "peers.csv")), out)
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"peers.py: {error}")


if __name__ == "__main__":
    main()

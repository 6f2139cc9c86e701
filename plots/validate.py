"""Simulated against measured, a dot a policy x trial: makespan and mean turnaround, the diagonal and a band of 10 % around it.

Reads RUN/validation.json, which `cosched validate` writes.
"""
import argparse
import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from style import INK, legend_below, policy_color, save

BAND = 0.1
LEGEND_COLUMNS = 5
BAND_COLOR = "#dddddd"
MARKERS = {"rigid": "s", "moldable": "^", "malleable": "o"}
PANELS = [("makespan", "by_makespan", "makespan (s)"), ("turnaround", "by_turnaround", "mean turnaround (s)")]


def draw(validation):
    cells = [cell for cell in validation["cells"] if cell["comparable"]]
    if not cells:
        raise ValueError("no cell has an outcome in both worlds")
    policies = list(dict.fromkeys(cell["policy"] for cell in cells))
    legend_rows = -(-(len(policies) + len(MARKERS) + 1) // LEGEND_COLUMNS)
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.6 + 0.25 * legend_rows))
    for panel, (metric, ranking, label) in zip(axes, PANELS):
        draw_panel(panel, cells, policies, metric, label)
        panel.set_title(title(validation, metric, ranking), fontsize=9)
    classes = [name for name in MARKERS if any(cell["elasticity"] == name for cell in cells)]
    handles = [Line2D([], [], marker="o", ls="", color=policy_color(name, policies), label=name) for name in policies]
    if len(classes) > 1:
        handles += [Line2D([], [], marker=MARKERS[name], ls="", mfc="none", color=INK, label=name) for name in classes]
    handles.append(Patch(color=BAND_COLOR, label=f"within {BAND:.0%}"))
    legend_below(figure, handles, LEGEND_COLUMNS)
    return figure


def draw_panel(panel, cells, policies, metric, label):
    measured = [cell["measured"][metric] for cell in cells]
    simulated = [cell["simulated"][metric] for cell in cells]
    low, high = 0.95 * min(measured + simulated), 1.05 * max(measured + simulated)
    panel.fill_between([low, high], [low * (1 - BAND), high * (1 - BAND)], [low * (1 + BAND), high * (1 + BAND)],
                       color=BAND_COLOR, lw=0, zorder=0)
    panel.plot([low, high], [low, high], color=INK, lw=0.8, zorder=1)
    for cell, x, y in zip(cells, measured, simulated):
        panel.plot(x, y, marker=MARKERS[cell["elasticity"]], ms=5, ls="", mew=0, alpha=0.8,
                   color=policy_color(cell["policy"], policies))
    panel.set_box_aspect(1)
    panel.set(xlim=(low, high), ylim=(low, high), xlabel=f"measured {label}", ylabel=f"simulated {label}")


def title(validation, metric, ranking):
    error = validation["absolute_error"][metric]
    text = f"mean absolute error of a trace {interval(error, 100, '.1f')} %"
    found = validation[ranking]
    text += "" if found is None else f"\nKendall's $\\tau$ {interval(found['tau'], 1, '.2f')}"
    return text + f"\nmedian over {error['trials']} traces" + (f" [level {error['level']:.0%}]" if error["level"] else "")


def interval(estimate, factor, style):
    value, low, high = (format(factor * estimate[key], style) for key in ("value", "low", "high"))
    return f"{value} [{low} {high}]" if estimate["level"] else value


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", metavar="RUN", help="the measured run, results/<experiment>/<run>")
    parser.add_argument("--out", metavar="F", help="F.png and F.pdf are written; default RUN/plots/validate")
    arguments = parser.parse_args()
    out = Path(arguments.out) if arguments.out else Path(arguments.run) / "plots" / "validate"
    try:
        save(draw(json.loads((Path(arguments.run) / "validation.json").read_text())), out)
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"validate.py: {error}")


if __name__ == "__main__":
    main()

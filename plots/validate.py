"""Simulated against measured, a dot a policy x trial: makespan and mean turnaround of jobs; mean response, windows above
objectives and CPU time granted of services; the diagonal and a band of 10 % around it.

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
JOBS = [("makespan", "by_makespan", "makespan (s)"), ("turnaround", "by_turnaround", "mean turnaround (s)")]


class Panel:
    """Rows with policy and elasticity, a value of each in both worlds, what they sum up to, and how the policies are ordered."""

    def __init__(self, label, rows, value, error, ranking, unit="%"):
        self.label, self.rows, self.error, self.ranking, self.unit = label, rows, error, ranking, unit
        self.measured, self.simulated = [value(row["measured"]) for row in rows], [value(row["simulated"]) for row in rows]


def panels(validation):
    cells = [cell for cell in validation["cells"] if cell["comparable"]]
    found = []
    if any(cell["measured"]["turnaround"] > 0 for cell in cells):
        found += [Panel(label, cells, lambda world, metric=metric: world[metric], validation["absolute_error"][metric], validation[ranking])
                  for metric, ranking, label in JOBS]
    services = validation.get("services")
    if services:
        found.append(Panel("mean response (s)", services["services"], lambda world: world["mean_ms"] / 1e3, services["response_error"], None))
        limited = [row for row in services["services"] if row["measured"]["violated"] is not None and row["simulated"]["violated"] is not None]
        if limited:
            found.append(Panel("windows above objective (%)", limited, lambda world: 100 * world["violated"],
                               services["violation_difference"], services["by_violations"], "points"))
        granted = [row for row in services["granted"] if row["measured"] > 0]
        if granted:
            found.append(Panel("CPU time granted (core-s)", granted, lambda world: world, services["granted_error"], services["by_granted"]))
    if not found:
        raise ValueError("no cell has an outcome in both worlds")
    return found


def draw(validation):
    drawn = panels(validation)
    rows = [row for panel in drawn for row in panel.rows]
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    legend_rows = -(-(len(policies) + len(MARKERS) + 1) // LEGEND_COLUMNS)
    figure, axes = plt.subplots(1, len(drawn), figsize=(4.2 * len(drawn), 4.6 + 0.25 * legend_rows), squeeze=False)
    for axis, panel in zip(axes[0], drawn):
        draw_panel(axis, panel, policies)
        axis.set_title(title(panel), fontsize=9)
    classes = [name for name in MARKERS if any(row["elasticity"] == name for row in rows)]
    handles = [Line2D([], [], marker="o", ls="", color=policy_color(name, policies), label=name) for name in policies]
    if len(classes) > 1:
        handles += [Line2D([], [], marker=MARKERS[name], ls="", mfc="none", color=INK, label=name) for name in classes]
    handles.append(Patch(color=BAND_COLOR, label=f"within {BAND:.0%}"))
    legend_below(figure, handles, LEGEND_COLUMNS)
    return figure


def draw_panel(axis, panel, policies):
    values = panel.measured + panel.simulated
    margin = 0.05 * ((max(values) - min(values)) or max(values) or 1)
    low, high = max(0, min(values) - margin) if min(values) > 0 else -margin, max(values) + margin
    axis.fill_between([max(low, 0), high], [max(low, 0) * (1 - BAND), high * (1 - BAND)], [max(low, 0) * (1 + BAND), high * (1 + BAND)],
                      color=BAND_COLOR, lw=0, zorder=0)
    axis.plot([low, high], [low, high], color=INK, lw=0.8, zorder=1)
    for row, x, y in zip(panel.rows, panel.measured, panel.simulated):
        axis.plot(x, y, marker=MARKERS[row["elasticity"]], ms=5, ls="", mew=0, alpha=0.8, color=policy_color(row["policy"], policies))
    axis.set_box_aspect(1)
    axis.set(xlim=(low, high), ylim=(low, high), xlabel=f"measured {panel.label}", ylabel=f"simulated {panel.label}")


def title(panel):
    error = panel.error
    text = f"mean {'difference' if panel.unit == 'points' else 'absolute error'} of a trace {interval(error, 100, '.1f')} {panel.unit}"
    text += "" if panel.ranking is None else f"\nKendall's $\\tau$ {interval(panel.ranking['tau'], 1, '.2f')}"
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

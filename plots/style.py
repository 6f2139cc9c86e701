"""What all plots share: one colour per policy everywhere (Okabe-Ito, safe for colour-blind readers), fonts, saving."""
import argparse
import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)

import plot_data  # noqa: E402
from load import LoadError, Run  # noqa: E402

POLICY_COLORS = {
    "no-control": "#7a7a7a",
    "static-partition": "#E69F00",
    "strict": "#0072B2",
    "always-attend": "#56B4E9",
    "max-prop": "#009E73",
    "equal-share": "#D55E00",
    "easy-backfill": "#332288",
    "easy-malleable": "#6699CC",
    "sjf": "#882255",
    "srpt": "#AA4499",
    "hesrpt": "#CC6677",
    "marginal-speedup": "#117733",
    "round-robin": "#999933",
    "gang": "#8C564B",
    "lend-reclaim": "#44AA99",
    "feedback": "#DDCC77",
    "bottleneck-first": "#6A51A3",
    "credit-knee": "#A6761D",
}
# Policies that are not of the tree, or under names of the experiment, by name.
OTHER_COLORS = ["#CC79A7", "#B8A800", "#5D3A9B", "#1B1B1B", "#1F9E89", "#C2571A", "#7FA6D6", "#8C6D46"]
WAITING = "#e4e4e4"
EXCESS = "#c1272d"
INK = "#222222"

plt.rcParams.update({
    "font.size": 9, "axes.titlesize": 10, "axes.labelsize": 9, "xtick.labelsize": 8, "ytick.labelsize": 8,
    "legend.fontsize": 8, "figure.titlesize": 11, "figure.dpi": 100, "savefig.dpi": 180, "pdf.fonttype": 42,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#888888", "axes.grid": True,
    "axes.axisbelow": True, "grid.color": "#e3e3e3", "grid.linewidth": 0.6, "legend.frameon": False,
    "figure.constrained_layout.use": True, "text.color": INK, "axes.labelcolor": INK,
})


def policy_color(policy, policies):
    if policy in POLICY_COLORS:
        return POLICY_COLORS[policy]
    others = sorted(set(policies) - set(POLICY_COLORS))
    return OTHER_COLORS[others.index(policy) % len(OTHER_COLORS)]


def legend_below(figure, handles, columns):
    """A legend under all axes, in space that they give up."""
    inches = 0.1 + 0.2 * -(-len(handles) // columns)
    share = inches / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0, share, 1, 1 - share))
    figure.legend(handles=handles, loc="lower center", ncol=columns)


def turned(names, widest):
    """How names of ticks are turned: not at all if each has at most so many letters."""
    return {} if all(len(str(name)) <= widest for name in names) else {"rotation": 28, "ha": "right", "rotation_mode": "anchor"}


def threads_axis(axes):
    """x in powers of two, written as the integers they are."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def whole_decades(axes):
    """A logarithmic y axis that begins and ends at powers of ten."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(high)))
    axes.minorticks_off()


def plain_log_axis(axes):
    """A logarithmic y axis whose ticks, 1, 2 and 5 of each decade, are written as the numbers they are."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_locator(plt.NullLocator())


def save(figure, base):
    """Writes base.png and base.pdf, of one layout, and base.csv with the data that they show; prints their paths."""
    base.parent.mkdir(parents=True, exist_ok=True)
    for suffix in (".png", ".pdf"):
        path = base.with_name(base.name + suffix)
        figure.savefig(path)
        print(path, flush=True)
        figure.set_layout_engine("none")  # It has been laid out, which takes longer than drawing.
    plot_data.write(figure, base.with_name(base.name + ".csv"))
    print(base.with_name(base.name + ".csv"), flush=True)
    plt.close(figure)


def main(draw, name, description):
    """The command line of one script: RUN [--out BASE]. draw(run) gives a figure."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("run", metavar="RUN", help="results/<experiment>/<run>")
    parser.add_argument("--out", metavar="F", help=f"F.png, F.pdf and F.csv are written; default RUN/plots/{name}")
    arguments = parser.parse_args()
    out = Path(arguments.out) if arguments.out else Path(arguments.run) / "plots" / name
    if out.suffix in (".png", ".pdf"):
        out = out.with_suffix("")
    try:
        save(draw(Run(arguments.run)), out)
    except (LoadError, OSError) as error:
        sys.exit(f"{name}.py: {error}")

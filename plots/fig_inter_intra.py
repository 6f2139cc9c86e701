#!/usr/bin/env python3
"""A heat map a model: step time against inter-op and intra-op threads, each relative to one thread of both."""
import numpy as np

import claims
import figures
from style import plt

INTER, INTRA, MODEL = "workload.net.inter", "workload.net.threads", "workload.net.model"
NAMES = {"resnet56": "ResNet-56", "lenet5": "LeNet-5"}


def step_times(sweep, model, inter, intra):
    """Step times by trial."""
    return {cell.trial: cell.steady_steps()["duration_ms"].to_numpy()
            for cell in sweep.cells(model=model, inter=inter, threads=intra)}


def ratio(sweep, model):
    """With as many threads as this machine has cores: all of them inter-op / all of them intra-op."""
    shared = set(sweep.values(INTER)) & set(sweep.values(INTRA))
    threads = max((n for n in shared if 1 < n <= sweep.cores_here), default=None)
    if threads is None:
        raise claims.NotHere("no number of threads from 2 to this machine's cores is in the grid")
    inter, intra = step_times(sweep, model, threads, 1), step_times(sweep, model, 1, threads)
    return claims.median(np.median(inter[trial]) / np.median(intra[trial]) for trial in sorted(inter.keys() & intra.keys()))


def measure(sweep):
    measures = {model: lambda model=model: ratio(sweep, model) for model in NAMES}
    return {**measures, "resnet56_extent": measures["resnet56"]}


def draw_model(axes, sweep, model):
    inters, intras = sweep.values(INTER), sweep.values(INTRA)
    times = np.full((len(inters), len(intras)), np.nan)
    for i, inter in enumerate(inters):
        for k, intra in enumerate(intras):
            trials = step_times(sweep, model, inter, intra)
            if trials:
                times[i, k] = np.median([np.median(values) for values in trials.values()])
    image = axes.imshow(times, origin="lower", cmap="viridis_r", aspect="auto")
    middle = (np.nanmin(times) + np.nanmax(times)) / 2
    for (i, k), value in np.ndenumerate(times):
        if not np.isnan(value):
            axes.text(k, i, f"{value:.3g}\n{value / times[0, 0]:.2f}x", ha="center", va="center", fontsize=8,
                      color="white" if value > middle else "black")
    axes.set_xticks(range(len(intras)), intras)
    axes.set_yticks(range(len(inters)), inters)
    axes.set_xlabel("intra-op threads")
    axes.set_title(f"{NAMES[model]}: step time [ms]", loc="left")
    axes.grid(False)
    axes.figure.colorbar(image, ax=axes, shrink=0.85)


def draw(sweep, expected):
    models = [model for model in NAMES if model in sweep.values(MODEL)]
    figure, grid = plt.subplots(1, len(models), figsize=(1.5 + 4 * len(models), 3.8), squeeze=False)
    for axes, model in zip(grid[0], models):
        draw_model(axes, sweep, model)
    grid[0, 0].set_ylabel("inter-op threads")
    figure.suptitle(f"Threads of both pools on {sweep.cores_here} cores   (median; x: against one thread of both)")
    return figure


if __name__ == "__main__":
    figures.main("fig_inter_intra", draw, measure, __doc__)

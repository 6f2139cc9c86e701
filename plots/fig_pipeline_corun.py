#!/usr/bin/env python3
"""A pipeline beside training jobs: its latency and the jobs an hour by policy, measured on two cores and simulated on eight."""
import numpy as np
import pandas as pd

import claims
import figures
import style
from style import plt

PIPELINE = "increment"
BASELINE = "equal-share"
OURS = ["bottleneck-first", "credit-knee"]
WORLDS = {"here": "this machine", "simulated": "eight cores, simulated"}


def is_simulated(point):
    return point.values.get("backend") == "simulated"


def run_of(sweep, world):
    for point in sweep.points:
        if is_simulated(point) == (world == "simulated"):
            return point.run
    raise claims.NotHere(f"there is no run on {WORLDS[world]}")


def latency(run, policy):
    """By trial."""
    table = run.services()
    found = table[table["policy"] == policy].set_index("trial")["p95_latency_ms"].dropna().astype(float)
    if found.empty:
        raise claims.NotHere(f"the records lack {policy}")
    return found


def jobs(run, policy):
    """Training jobs an hour, from the first one's arrival until the last one's end, by trial."""
    rates = {}
    for cell in run.cells:
        if cell.policy == policy:
            table = cell.table("jobs")
            table = table[table["workload"] != PIPELINE]
            rates[cell.trial] = 3600 * len(table) / (table["finish_time"].max() - table["submission_time"].min())
    if not rates:
        raise claims.NotHere(f"the records lack {policy}")
    return pd.Series(rates)


def credits(run, policy):
    """Requests that were allowed to be open, mean over the samples in which any was, by trial."""
    means = {}
    for cell in run.cells:
        if cell.policy == policy:
            samples = cell.table("stages").groupby("time")[["open", "open_requests"]].first()
            means[cell.trial] = samples.loc[samples["open"] > 0, "open_requests"].mean()
    return pd.Series(means)


def change(sweep, world, values, policy):
    run = run_of(sweep, world)
    return claims.median((values(run, policy) / values(run, BASELINE)).dropna())


def measure(sweep):
    measures = {}
    for world in WORLDS:
        for policy in OURS:
            name = f"{policy.replace('-', '_')}_{world}"
            measures[f"{name}_latency"] = lambda world=world, policy=policy: change(sweep, world, latency, policy)
            measures[f"{name}_jobs"] = lambda world=world, policy=policy: change(sweep, world, jobs, policy)
    for world in WORLDS:
        measures[f"credit_knee_{world}_credits"] = lambda world=world: change(sweep, world, credits, "credit-knee")
    return measures


def draw_panel(axes, run, values, label):
    policies = [policy for policy in [BASELINE, *OURS] if policy in run.policies]
    for place, policy in enumerate(policies):
        ours = values(run, policy)
        axes.plot([place] * len(ours), ours, "o", markersize=4, alpha=0.6, color=style.policy_color(policy, policies))
        axes.plot([place - 0.25, place + 0.25], [np.median(ours)] * 2, "-", color=style.policy_color(policy, policies), linewidth=2)
    axes.set_xticks(range(len(policies)), policies)
    axes.set_xlim(-0.6, len(policies) - 0.4)
    axes.margins(y=0.1)
    axes.set_ylim(bottom=0)
    axes.set_title(label, loc="left")


def draw(sweep, _expected):
    worlds = [world for world in WORLDS if any(is_simulated(point) == (world == "simulated") for point in sweep.points)]
    figure, grid = plt.subplots(len(worlds), 2, figsize=(8.4, 0.3 + 2.7 * len(worlds)), squeeze=False)
    for row, world in zip(grid, worlds):
        run = run_of(sweep, world)
        draw_panel(row[0], run, latency, f"{WORLDS[world]}: p95 latency [ms]")
        draw_panel(row[1], run, jobs, f"{WORLDS[world]}: training jobs an hour")
    return figure


if __name__ == "__main__":
    figures.main("fig_pipeline_corun", draw, measure, __doc__)

"""Published claims against our records: estimates with intervals, and the one place where a verdict is made.

expected/fig_X.json holds for each claim its published value and what our value must be (`holds_if`: from, to); fig_X.py
measures ours. A claim holds if the whole 95 % interval lies within these limits, does not hold if all of it lies outside,
and is not supported here if the interval crosses a limit, if this machine lacks the cores (`needs_cores`), or if the records
do not show it (NotHere).
"""
import json
import textwrap
from typing import NamedTuple

import numpy as np

RESAMPLES = 2000
HOLDS, FAILS, NOT_HERE = "holds", "does not hold", "not supported here"
WIDTH = 118


class NotHere(Exception):
    """These records can't say; the message says why."""


class Estimate(NamedTuple):
    value: float
    low: float
    high: float


def bootstrap(trials, statistic):
    """The statistic with its percentile bootstrap in two stages: trials are drawn, then the values within each drawn trial.

    trials: a dict a trial, name -> values (the steps of one phase, say); statistic(list of such dicts) gives a number. Steps
    of one trial follow each other and are not quite independent, so with one trial the interval is too narrow. Seeded: equal
    records give equal intervals.
    """
    if not trials:
        raise NotHere("no trial has it")
    trials = [{name: np.asarray(values) for name, values in trial.items()} for trial in trials]
    random = np.random.default_rng(1)
    draws = []
    for _ in range(RESAMPLES):
        chosen = [trials[i] for i in random.integers(len(trials), size=len(trials))]
        draws.append(statistic([{name: values[random.integers(len(values), size=len(values))]
                                 for name, values in trial.items()} for trial in chosen]))
    low, high = np.quantile(draws, [0.025, 0.975])
    return Estimate(float(statistic(trials)), float(low), float(high))


def evaluate(claim, measure, cores):
    """One row of the table, a dict."""
    row = {"name": claim["name"], "claim": claim["claim"], "published": claim["published"], "holds_if": claim["holds_if"],
           "unit": claim.get("unit", ""), "ours": None, "low": None, "high": None}
    try:
        if claim["name"] not in measure:
            raise NotHere("not measured by this figure's experiment")
        estimate = measure[claim["name"]]()
    except NotHere as reason:
        return {**row, "verdict": NOT_HERE, "reason": lacks_cores(claim, cores) or str(reason)}
    row.update(ours=estimate.value, low=estimate.low, high=estimate.high)
    verdict, reason = judge(claim, estimate, cores)
    if verdict == FAILS and "because" in claim:
        reason += "; " + claim["because"]
    return {**row, "verdict": verdict, "reason": reason}


def lacks_cores(claim, cores):
    needed = claim.get("needs_cores", 1)
    if cores >= needed:
        return ""
    return f"needs {needed} cores, this machine has {cores}" + (f": {claim['needs_because']}" if "needs_because" in claim else "")


def judge(claim, estimate, cores):
    lacking = lacks_cores(claim, cores)
    if lacking:
        return NOT_HERE, lacking
    low = claim["holds_if"].get("from", -np.inf)
    high = claim["holds_if"].get("to", np.inf)
    if low <= estimate.low and estimate.high <= high:
        return HOLDS, ""
    if estimate.high < low:
        return FAILS, f"the whole interval lies below {low:g}"
    if estimate.low > high:
        return FAILS, f"the whole interval lies above {high:g}"
    crossed = low if estimate.low < low else high
    return NOT_HERE, f"the interval crosses {crossed:g}: more trials or a quieter machine would decide"


def number(value):
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.{1 if abs(value) >= 10 else 3}f}"


def condition(limits):
    if "from" in limits and "to" in limits:
        return f"{limits['from']:g} to {limits['to']:g}"
    return f">= {limits['from']:g}" if "from" in limits else f"<= {limits['to']:g}"


def ours_text(row):
    if row["ours"] is None:
        return "-"
    return f"{number(row['ours'])} [{number(row['low'])} {number(row['high'])}]{row['unit']}"


def table(title, rows, marked):
    text = [title, "", f"{'claim':<58} {'published':>12}  {'ours [95 %]':<22} {'holds if':<14} verdict"]
    for row in rows:
        first, *more = textwrap.wrap(row["claim"], 58)
        published = row["published"] if isinstance(row["published"], str) else number(row["published"]) + row["unit"]
        text.append(f"{first:<58} {published:>12}  {ours_text(row):<22} {condition(row['holds_if']):<14} {row['verdict']}")
        text += [f"  {line}" for line in more]
        if row["reason"]:
            text += textwrap.wrap(row["reason"], WIDTH, initial_indent="    -> ", subsequent_indent="       ")
    if marked[0]:
        text.append(f"  * {marked[0]} of {marked[1]} cells are marked: measured beside other programs, or late")
    return "\n".join(text)


def write(path, figure, rows):
    path.write_text(json.dumps({"figure": figure, "claims": rows}, indent=2) + "\n")

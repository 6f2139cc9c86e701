"""Published claims against our records: estimates with intervals, and the one place where a verdict is made.

expected/fig_X.json holds for each claim its published value and what our value must be (`holds_if`: from, to); fig_X.py
measures ours. One trial gives one number; their median is told between two of them, which hold the true median with a level
that follows from their number alone. A claim holds if the whole interval lies within these limits, does not hold if all of it
lies outside, and is not supported here if the interval crosses a limit or its level is below 95 % (fewer than 6 trials), if
this machine lacks the cores (`needs_cores`), or if the records do not show it (NotHere). With `"checks": "direction only"`
the limits say nothing of the published size, and the verdict says so. A claim of a direction names where there is no effect
(`not` of its limits, one of the two): an interval that holds this value shows no direction. What is no nearer to the
limits than this machine comes to itself (`Estimate.reach`) is not supported here rather than false. A claim of which
nothing is published, our own target or hypothesis, has "-" as its published value.
"""
import itertools
import json
import math
import textwrap
from typing import NamedTuple

import numpy as np

DECIDES = 0.95  # An interval of a lower level decides nothing.
FEWEST = 6  # Trials whose range has that level.
HOLDS, FAILS, NOT_HERE = "holds", "does not hold", "not supported here"
WIDTH = 118


class NotHere(Exception):
    """These records can't say; the message says why."""


class Reach(NamedTuple):
    """What no model of this machine can surpass: how near the machine comes to itself."""

    value: float
    what: str


class Estimate(NamedTuple):
    value: float
    low: float
    high: float
    level: float  # With which low and high hold the true value; 0 = no interval; 1 = counted, not estimated.
    trials: int
    is_range: bool = False  # low and high are the smallest and the largest trial.
    reach: Reach | None = None
    note: str = ""  # What a reader of any verdict must know.

    def scaled(self, change):
        """With change(x), which grows with x, made to every value."""
        return self._replace(value=change(self.value), low=change(self.low), high=change(self.high))


def median(values):
    """Of one number a trial, with the narrowest symmetric pair of them that holds the true median with 95 % or more.

    Fewer than 6 have no such pair: then it is their range, whose level is less (3: 75 %). Binomial, whatever the distribution.
    """
    values = sorted(map(float, values))
    count = len(values)
    if not values:
        raise NotHere("no trial has it")
    if count == 1:
        return Estimate(values[0], values[0], values[0], 0.0, 1)
    left_out, missed = 0, 2 * 0.5**count
    for k in range(1, count // 2):
        more = missed + 2 * math.comb(count, k) * 0.5**count
        if 1 - more < DECIDES:
            break
        left_out, missed = k, more
    return Estimate(float(np.median(values)), values[left_out], values[-1 - left_out], 1 - missed, count, left_out == 0)


def independent_ratio(ours, theirs):
    """ours / theirs where nothing pairs their values: the median of all ratios, and the interval that the Mann-Whitney test leaves."""
    ratios = sorted(a / b for a, b in itertools.product(ours, theirs))
    below = np.cumsum(rank_sums(len(ours), len(theirs)))  # P(U <= k), by k.
    left_out = 0
    while 2 * (left_out + 1) < len(ratios) and 1 - 2 * below[left_out + 1] >= DECIDES:
        left_out += 1
    level = max(0.0, 1 - 2 * float(below[left_out]))
    value = math.exp(np.median(np.log(ratios)))
    return Estimate(value, ratios[left_out], ratios[-1 - left_out], level, min(len(ours), len(theirs)), left_out == 0)


def rank_sums(n, m):
    """The distribution of Mann-Whitney's U of n and m values without ties, by U from 0 to n m."""
    ways = {(0, 0): np.ones(1)}
    for i, j in itertools.product(range(n + 1), range(m + 1)):
        if i + j == 0:
            continue
        total = np.zeros(i * j + 1)
        if j > 0:  # The largest is one of the m: those of the n lie below it.
            total[i:i + len(ways[i, j - 1])] += ways[i, j - 1]
        if i > 0:
            total[:len(ways[i - 1, j])] += ways[i - 1, j]
        ways[i, j] = total
    return ways[n, m] / ways[n, m].sum()


def level_text(estimate):
    """What the interval is: "97 %", or "range of 3: 75 %"."""
    if estimate.level == 0:
        return "one trial: no interval"
    text = level_percent(estimate.level)
    return f"range of {estimate.trials}: {text}" if estimate.is_range and estimate.level < DECIDES else text


def evaluate(claim, measure, cores):
    """One row of the table, a dict."""
    row = {"name": claim["name"], "claim": claim["claim"], "published": claim["published"], "holds_if": claim["holds_if"],
           "checks": claim.get("checks", ""), "unit": claim.get("unit", ""), "ours": None, "low": None, "high": None, "level": None,
           "trials": None}
    try:
        if claim["name"] not in measure:
            raise NotHere("not measured by this figure's experiment")
        estimate = measure[claim["name"]]()
    except NotHere as reason:
        return {**row, "verdict": NOT_HERE, "reason": lacks_cores(claim, cores) or str(reason)}
    row.update(ours=estimate.value, low=estimate.low, high=estimate.high, level=estimate.level, trials=estimate.trials)
    verdict, reason = judge(claim, estimate, cores)
    because = claim.get("because", "") if verdict == FAILS else ""
    return {**row, "verdict": verdict, "reason": "; ".join(filter(None, (reason, because, estimate.note)))}


def lacks_cores(claim, cores):
    needed = claim.get("needs_cores", 1)
    if cores >= needed:
        return ""
    return f"needs {needed} cores, this machine has {cores}" + (f": {claim['needs_because']}" if "needs_because" in claim else "")


def judge(claim, estimate, cores):
    lacking = lacks_cores(claim, cores)
    if lacking:
        return NOT_HERE, lacking
    if estimate.level < DECIDES:
        return NOT_HERE, undecided(estimate)
    low = claim["holds_if"].get("from", -np.inf)
    high = claim["holds_if"].get("to", np.inf)
    if low <= estimate.low and estimate.high <= high:
        return judge_effect(claim["holds_if"].get("not"), estimate)
    if estimate.reach is not None and not low <= estimate.reach.value <= high:
        return NOT_HERE, f"no model can be that near: {estimate.reach.what} is {number(estimate.reach.value)}{claim.get('unit', '')}"
    if estimate.high < low:
        return FAILS, f"the whole interval lies below {low:g}"
    if estimate.low > high:
        return FAILS, f"the whole interval lies above {high:g}"
    crossed = low if estimate.low < low else high
    return NOT_HERE, f"the interval crosses {crossed:g}: more trials or a quieter machine would decide"


def judge_effect(none, estimate):
    """Of an interval within the limits; none: where there is no effect, if the claim is of a direction."""
    if none is None or not estimate.low <= none <= estimate.high:
        return HOLDS, ""
    if estimate.low == estimate.high:
        return FAILS, f"there is no effect: the whole interval is {none:g}"
    return NOT_HERE, f"the interval reaches {none:g}, which is no effect: more trials or a quieter machine would decide"


def undecided(estimate):
    if estimate.level == 0:
        return f"one trial has no interval; {FEWEST} are needed"
    return f"the range of {estimate.trials} trials covers {level_percent(estimate.level)}; {FEWEST} are needed"


def number(value):
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.{1 if abs(value) >= 10 else 3}f}"


def condition(limits):
    if "from" in limits and "to" in limits:
        return f"{limits['from']:g} to {limits['to']:g}" + (f", not {limits['not']:g}" if "not" in limits else "")
    strict = "" if "not" in limits else "="
    return f">{strict} {limits['from']:g}" if "from" in limits else f"<{strict} {limits['to']:g}"


def ours_text(row):
    if row["ours"] is None:
        return "-"
    value = number(row["ours"]) + row["unit"]
    if row["level"] in (0, 1):  # No interval, or none is needed.
        return value
    return f"{value} [{number(row['low'])} {number(row['high'])}] {level_percent(row['level'])}"


def verdict_text(row):
    """A direction that holds is no size that agrees."""
    return f"{row['verdict']} ({row['checks']})" if row["checks"] and row["verdict"] != NOT_HERE else row["verdict"]


def level_percent(level):
    """0.96875 is "96.8 %": never more than it is."""
    return f"{np.floor(level * 1000) / 10:g} %"


def table(title, rows):
    text = [title, "", f"{'claim':<58} {'published':>12}  {'ours [interval] level':<28} {'holds if':<14} verdict"]
    for row in rows:
        first, *more = textwrap.wrap(row["claim"], 58)
        published = row["published"] if isinstance(row["published"], str) else number(row["published"]) + row["unit"]
        text.append(f"{first:<58} {published:>12}  {ours_text(row):<28} {condition(row['holds_if']):<14} {verdict_text(row)}")
        text += [f"  {line}" for line in more]
        if row["reason"]:
            text += textwrap.wrap(row["reason"], WIDTH, initial_indent="    -> ", subsequent_indent="       ")
    return "\n".join(text)


def write(path, figure, rows, cells, notes):
    """cells: as cell_doubts.found() has them; notes: lines, as they are printed."""
    path.write_text(json.dumps({"figure": figure, "claims": rows, "cells": cells, "notes": notes}, indent=2) + "\n")

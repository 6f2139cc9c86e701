#!/usr/bin/env python3
"""Simulated against measured under every policy, with the verdicts of `cosched validate` as claims."""
import json

import claims
import figures
import validate
from load import LoadError, Run, parse_cpus


class Validation:
    """The measured run, whose folder holds validation.json."""

    def __init__(self, path):
        self.run = Run(path)
        try:
            self.found = json.loads((self.run.path / "validation.json").read_text())
        except (OSError, ValueError) as error:
            raise LoadError(f"{path}: no validation: {error}") from error
        self.lost = []  # `cosched validate` has left them out.
        self.cores_here = len(parse_cpus(self.run.manifest["host"]["cpus"]))

    def marked(self):
        return sum(bool(cell.marks) for cell in self.run.cells), len(self.run.cells)


def estimate(found, factor=1.0):
    level, trials = found["level"], found["trials"]
    return claims.Estimate(found["value"], found["low"], found["high"], level, trials, level < claims.DECIDES).scaled(lambda value: factor * value)


def measure(validation):
    found = validation.found

    def error(metric):
        return lambda: estimate(found["absolute_error"][metric], 100)

    def ranking(by, key, factor=1.0):
        def value():
            if found[by] is None:
                raise claims.NotHere("there is no ranking")
            return estimate(found[by][key], factor)

        return value

    def alike(by):
        def value():
            if found[by] is None or found[by]["told_apart"] == 0:
                raise claims.NotHere("the hardware tells no two policies apart" + few(found[by]["tau"]))
            share = 100 * found[by]["ordered_alike"] / found[by]["told_apart"]
            return claims.Estimate(share, share, share, 1.0, found[by]["tau"]["trials"])

        return value

    return {
        "makespan": error("makespan"),
        "throughput": error("throughput"),
        "turnaround": error("turnaround"),
        "alike_makespan": alike("by_makespan"),
        "alike_turnaround": alike("by_turnaround"),
        "tau_makespan": ranking("by_makespan", "tau"),
        "tau_turnaround": ranking("by_turnaround", "tau"),
        "regret_turnaround": ranking("by_turnaround", "regret", 100),
    }


def few(tau):
    return f": {tau['trials']} traces, {claims.FEWEST} are needed" if tau["trials"] < claims.FEWEST else ""


def notes(validation, _expected):
    lines = []
    for by, what in (("by_makespan", "makespan"), ("by_turnaround", "mean turnaround")):
        found = validation.found[by]
        if found is None:
            continue
        itself = "-" if found["measured_tau"] is None else f"{found['measured_tau']:.2f}"
        lines.append(f"by {what}: the hardware tells {found['told_apart']} of {found['pairs']} pairs of policies apart, "
                     f"{found['ordered_alike']} of them are simulated in the same order; "
                     f"tau of the means over all traces {found['tau_of_means']:.2f}; "
                     f"the hardware against itself, half of the traces against the others, {itself}")
    return lines


def draw(validation, _expected):
    return validate.draw(validation.found)


if __name__ == "__main__":
    figures.main("fig_fidelity", draw, measure, __doc__, notes, Validation)

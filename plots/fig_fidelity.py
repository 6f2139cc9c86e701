#!/usr/bin/env python3
"""Simulated against measured under every policy, with the verdicts of `cosched validate` as claims."""
import claims
import figures
import validate
from validation import Validation, alike, estimate, tau_of


def measure(validation):
    found = validation.found

    def error(metric):
        return lambda: estimate(found["absolute_error"][metric], 100)

    def ranking(by, value):
        def of_ranking():
            if found[by] is None:
                raise claims.NotHere("there is no ranking")
            return value(found[by])

        return of_ranking

    return {
        "makespan": error("makespan"),
        "throughput": error("throughput"),
        "turnaround": error("turnaround"),
        "alike_makespan": lambda: alike(found["by_makespan"]),
        "alike_turnaround": lambda: alike(found["by_turnaround"]),
        "tau_makespan": ranking("by_makespan", tau_of),
        "tau_turnaround": ranking("by_turnaround", tau_of),
        "regret_turnaround": ranking("by_turnaround", lambda agreement: estimate(agreement["regret"], 100)),
    }


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

#!/usr/bin/env python3
"""Services simulated against measured under ROMA and what it is compared with: responses, objectives missed, CPU time granted."""
import claims
import figures
import validate
from validation import Validation, alike, estimate


def measure(validation):
    def found(key):
        part = validation.found["services"]
        if part is None:
            raise claims.NotHere("no service was answered in both worlds")
        if part[key] is None or part[key].get("trials") == 0:
            raise claims.NotHere("no cell tells it")
        return part[key]

    def error(key):
        return lambda: estimate(found(key), 100)

    return {
        "response": error("response_error"),
        "violations": error("violation_difference"),
        "granted": error("granted_error"),
        "alike_violations": lambda: alike(found("by_violations")),
        "alike_granted": lambda: alike(found("by_granted")),
        "tau_violations": lambda: estimate(found("by_violations")["tau"]),
        "tau_granted": lambda: estimate(found("by_granted")["tau"]),
    }


def draw(validation, _expected):
    return validate.draw(validation.found)


if __name__ == "__main__":
    figures.main("fig_roma_fidelity", draw, measure, __doc__, load=Validation)

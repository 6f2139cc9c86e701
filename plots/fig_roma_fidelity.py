#!/usr/bin/env python3
"""Services simulated against measured under ROMA and what it is compared with: responses, objectives missed, CPU time granted;
and what ROMA gains on this machine."""
import claims
import figures
import validate
from service_costs import change, core_seconds, violated
from validation import Validation, alike, estimate, tau_of


OTHERS = ["rules", "static", "devices", "vpa"]


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
        "tau_violations": lambda: tau_of(found("by_violations")),
        "measured_violations": lambda: change([validation.run], violated, "roma", OTHERS),
        "measured_cores": lambda: change([validation.run], core_seconds, "roma", OTHERS),
    }


def draw(validation, _expected):
    return validate.draw(validation.found)


if __name__ == "__main__":
    figures.main("fig_roma_fidelity", draw, measure, __doc__, load=Validation)

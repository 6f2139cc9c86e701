"""Controllers of an instance's cores as their papers have them, for check_controllers.py: how many cores an instance wants after a
window, by what it and its service did in it. Written from the formulas and not from the code under test.

A law is told `seen`, what a policy sees of a window (check_controllers.py), the cores that the instance had in it, and `slack`:
what recorded times, in whole microseconds, may move, one way or the other. It says what it wants, before it is put on the
grid, and is told what it got.
"""
import math


class Law:
    def __init__(self, parameters):
        self.parameters = parameters

    def number(self, name):
        return float(self.parameters[name])

    def aimed_s(self, seen):
        """The mean response that is aimed at."""
        return self.number("aim") * seen["objective_s"]

    def wanted(self, seen, cores, slack):
        raise NotImplementedError

    def got(self, cores):
        """Most laws go on from what they see."""


class RomaCt(Law):
    """Baresi, Quattrocchi, Rasi, ICSOC 2021: c = x + B e + D e with e = 1/SLA - 1/RT, x' = c - B e; nothing to do: the least."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.b, self.d = (self.number(name) * self.number("gain") for name in ("b", "d"))
        self.x, self.e = 0.0, 0.0

    def wanted(self, seen, cores, slack):
        if seen["dispatched"] == 0 and seen["answered"] == 0:
            self.e = 0.0
            return 0.0
        self.e = 1 / self.aimed_s(seen) - (1 / seen["mean_s"] if seen["answered"] else 0)
        return self.x + (self.b + self.d) * self.e + slack

    def got(self, cores):
        self.x = cores - self.b * self.e


class RomaCt2(Law):
    """Its second controller: PI on the queue's length, which is to be SLA times the rate of requests."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.k, self.ti, self.least = (self.number(name) for name in ("k", "ti_s", "least"))
        self.i, self.p = self.least, 0.0

    def wanted(self, seen, cores, slack):
        rate = seen["dispatched"] / seen["length_s"]
        self.p = 0.0
        if rate == 0 and seen["in_flight"] == 0:
            return self.least
        e = self.aimed_s(seen) * rate - seen["in_flight"]
        self.p = self.k * e
        return self.p + self.i + self.k * seen["length_s"] / self.ti * e + slack

    def got(self, cores):
        self.i = cores - self.p


class RomaRules(Law):
    """A step more above a part of the objective, a step less below another, and then a rest."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.rested, self.changed, self.cores = 0.0, False, 0.0

    def wanted(self, seen, cores, slack):
        self.rested += seen["length_s"]
        self.cores = cores
        if self.changed and self.rested < self.number("rest_s"):
            return cores
        part = seen["service_mean_s"] / seen["objective_s"] + slack
        if part > self.number("above"):
            return cores + self.number("step")
        return cores - self.number("step") if part < self.number("below") else cores

    def got(self, cores):
        if cores != self.cores:
            self.rested, self.changed = 0.0, True


class Kosmos(Law):
    """Baresi, Quattrocchi, Rasi, ICSOC 2021 (KOSMOS): as ROMA's, in millicores, with bounded errors, steps and, adaptive, gains."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.b, self.d = self.number("b"), self.number("d")
        self.x, self.e = 0.0, 0.0

    def wanted(self, seen, cores, slack):
        self.e = max(-10.0, min(10.0, 1 / self.aimed_s(seen) - 1 / seen["mean_s"])) if seen["answered"] else -10.0
        wanted = (self.x + (self.b + self.d) * self.e) / 1000
        if self.parameters["gains"] == "adaptive":  # After they were used: the state goes on with the new B and the old error.
            self.b = max(10.0, min(100.0, self.b * math.sqrt(2 * abs(self.e))))
            self.d = max(15.0, min(150.0, self.b * self.number("d") / self.number("b")))
        return min(wanted + slack, 1.5 * cores)

    def got(self, cores):
        self.x = cores * 1000 - self.b * self.e


class CurveShares(Law):
    """Kingman, 1961, and a quota's stalls: the least cores whose expected mean response is within a part of the objective."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.rate, self.work = None, 1.0

    def response_s(self, cores, seen):
        threads = math.ceil(round(cores, 6))
        alone_s = self.work * seen["unit_s"][min(threads, len(seen["unit_s"])) - 1] / self.number("curve_factor")
        used_s, period_s = threads * alone_s, self.number("quota_period_ms") / 1e3
        quota_s = cores * period_s
        busy = self.rate * used_s / cores
        if busy >= 1:
            return math.inf
        full_quotas = max(0, math.ceil(used_s / quota_s - 1e-9) - 1)  # It ends within the last one.
        variability = (self.number("ca") ** 2 + self.number("cs") ** 2) / 2
        return alone_s * (1 + variability * busy / (1 - busy)) + full_quotas * (period_s - quota_s / threads)

    def wanted(self, seen, cores, slack):
        rate, newest = seen["dispatched"] / seen["length_s"], self.number("newest")
        self.rate = rate if self.rate is None else newest * rate + (1 - newest) * self.rate
        self.work = seen["mean_work"] or self.work
        grid = self.number("grid")
        amounts = [step * grid for step in range(1, math.ceil(seen["most"] / grid - 1e-9))]
        return next((amount for amount in amounts if amount >= self.number("least") - 1e-9 and
                     self.response_s(amount, seen) <= self.aimed_s(seen) + slack), seen["most"])

"""The part of check_results.py that is about controllers of services' cores (policies/core_controller.h): from what requests.csv
and objectives.csv tell of each window, every amount that roma-ct, roma-ct2, roma-rules and kosmos decided is computed anew, by
the published formulas and not by the code under test. Simulated, amounts must be equal; on hardware an answer reaches the harness
some time after it was found, so those of a window's last milliseconds may count in the next, and a step of the grid is allowed."""
import math

LAWS = ("roma-ct", "roma-ct2", "roma-rules", "kosmos")
LAG_S = 0.005  # Of answers, on hardware.
EDGE = 2e-5  # Cores by which recorded times, in whole microseconds, may move what is wanted.


class RomaCt:
    def __init__(self, parameters):
        gain = float(parameters["gain"])
        self.b, self.d = float(parameters["b"]) * gain, float(parameters["d"]) * gain
        self.x, self.e = 0.0, 0.0  # The published form: c = x + B e + D e, x' = c - B e.

    def wanted(self, seen, _):
        if seen["dispatched"] == 0 and seen["answered"] == 0:
            self.e = 0.0
            return 0.0
        self.e = 1 / seen["objective_s"] - (1 / seen["mean_s"] if seen["answered"] else 0)
        return self.x + (self.b + self.d) * self.e

    def got(self, cores):
        self.x = cores - self.b * self.e


class RomaCt2:
    def __init__(self, parameters):
        self.k, self.ti, self.least = (float(parameters[name]) for name in ("k", "ti_s", "least"))
        self.i, self.p = self.least, 0.0

    def wanted(self, seen, _):
        rate = seen["dispatched"] / seen["length_s"]
        self.p = 0.0
        if rate == 0 and seen["in_flight"] == 0:
            return self.least
        e = seen["objective_s"] * rate - seen["in_flight"]
        self.p = self.k * e
        return self.p + self.i + self.k * seen["length_s"] / self.ti * e

    def got(self, cores):
        self.i = cores - self.p


class RomaRules:
    def __init__(self, parameters):
        self.above, self.below, self.step, self.rest = (float(parameters[name]) for name in ("above", "below", "step", "rest_s"))
        self.rested, self.changed, self.cores = 0.0, False, 0.0

    def wanted(self, seen, cores):
        self.rested += seen["length_s"]
        self.cores = cores
        if self.changed and self.rested < self.rest:
            return cores
        part = seen["service_mean_s"] / seen["objective_s"]
        return cores + self.step if part > self.above else cores - self.step if part < self.below else cores

    def got(self, cores):
        if cores != self.cores:
            self.rested, self.changed = 0.0, True


class Kosmos:
    def __init__(self, parameters):
        self.b0, self.d0 = float(parameters["b"]), float(parameters["d"])
        self.b, self.d, self.adaptive = self.b0, self.d0, parameters["gains"] == "adaptive"
        self.x, self.e = 0.0, 0.0  # Millicores.

    def wanted(self, seen, cores):
        self.e = max(-10.0, min(10.0, 1 / seen["objective_s"] - 1 / seen["mean_s"])) if seen["answered"] else -10.0
        wanted = (self.x + (self.b + self.d) * self.e) / 1000
        if self.adaptive:
            self.b = max(10.0, min(100.0, self.b * math.sqrt(2 * abs(self.e))))
            self.d = max(15.0, min(150.0, self.b * self.d0 / self.b0))
        return min(wanted, 1.5 * cores)

    def got(self, cores):
        self.x = cores * 1000 - self.b * self.e


MADE_BY = dict(zip(LAWS, (RomaCt, RomaCt2, RomaRules, Kosmos)))
GRID_OF = {"roma-ct2": 0.001, "roma-rules": 0.1, "kosmos": 0.001}


def on_grid(cores, job, grid, least, up):
    steps = cores / grid
    steps = math.ceil(steps - 1e-9) if up else math.floor(steps + 0.5)
    most = job["requested_max"]
    return round(min(max(steps * grid, min(least, most)), most), 9)


def fit(amounts, room, grid):
    """Cut in proportion, up to the grid; what is too much then is taken from the largest."""
    whole = sum(amounts)
    if whole <= room + 1e-9:
        return amounts
    amounts = [round(math.ceil(round(amount * room / whole / grid, 9)) * grid, 9) for amount in amounts]
    while sum(amounts) > room + 1e-9:
        largest = amounts.index(max(amounts))
        amounts[largest] = round(amounts[largest] - min(sum(amounts) - room, grid), 9)
    return amounts


def allocated(text, machine):
    """decisions.csv: "0=0.7@0 1=0-3 2=pause" as cores by job."""
    for part in text.split():
        job, _, what = part.partition("=")
        if what.endswith("pause") or what == "reject":
            continue
        if "@" in what:
            yield int(job), float(what.partition("@")[0])
        else:
            yield int(job), float(len(machine(what)))


class Cell:
    def __init__(self, cell, policy, experiment):
        self.cell, self.parameters = cell, policy["parameters"]
        self.kind = policy.get("use", policy["name"])
        self.grid = float(self.parameters.get("grid", GRID_OF.get(self.kind)))
        self.least = float(self.parameters["least"])
        self.aim = float(self.parameters.get("aim", 1))
        self.up = self.parameters.get("rounding", "ceil" if self.kind in ("roma-ct", "roma-rules") else "nearest") == "ceil"
        self.window_s = experiment["services"]["window_s"]
        self.exact = experiment["backend"] == "simulated"
        self.of_job = {job: [] for job in cell.services}
        for row in cell.requests:
            self.of_job[row["job_id"]].append(row)
        self.laws = {job: MADE_BY[self.kind](self.parameters) for job in cell.services}

    def seen(self, job, begin, end, lag):
        """What the policy was told of that instance; lag: of answers before either edge."""
        service = self.cell.job_of[job]["workload"]
        objectives = [row["sla_ms"] / 1e3 for row in self.cell.objectives if row["service"] == service and row["time"] <= end]
        instances = [other for other in self.of_job if self.cell.job_of[other]["workload"] == service]

        def responses(jobs):
            return [row["finished"] - row["scheduled"] for one in jobs for row in self.of_job[one]
                    if row["finished"] is not None and begin - lag[0] < row["finished"] <= end - lag[1]]
        own, together = responses([job]), responses(instances)
        given = [row for row in self.of_job[job] if row["dispatched"] is not None and row["dispatched"] <= end]
        return {"objective_s": self.aim * objectives[-1], "length_s": end - begin, "answered": len(own),
                "mean_s": sum(own) / len(own) if own else 0, "service_mean_s": sum(together) / len(together) if together else 0,
                "dispatched": sum(row["dispatched"] > begin for row in given),
                "in_flight": sum(row["finished"] is None or row["finished"] > end - lag[1] for row in given)}

    def expected(self, jobs, begin, end, cores, lag, shift):
        """Amounts by job; the laws' states are copied first, since several readings of a window are tried."""
        laws = {job: MADE_BY[self.kind](self.parameters) for job in jobs}
        for job in jobs:
            laws[job].__dict__.update(self.laws[job].__dict__)
        wanted = [on_grid(laws[job].wanted(self.seen(job, begin, end, lag), cores[job]) + shift, self.cell.job_of[job],
                          self.grid, self.least, self.up) for job in jobs]
        return laws, dict(zip(jobs, fit(wanted, len(self.cell.machine), min(self.grid, 0.1))))

    def check(self, report, machine):
        where, cores, end = self.cell.where("decisions.csv"), {}, None
        for row in self.cell.decisions:
            before = dict(cores)
            for job, amount in allocated(row["allocation"], machine):
                cores[job] = amount
            if row["event"] != "window-over":
                continue
            begin = end if end is not None else (round(row["time"] / self.window_s) - 1) * self.window_s
            end = row["time"]
            jobs = [job for job in self.of_job if job in before and self.cell.job_of[job]["finish_time"] > end]
            lags = [(0.0, 0.0)] if self.exact else [(a, b) for a in (0.0, LAG_S) for b in (0.0, LAG_S)]
            readings = [self.expected(jobs, begin, end, before, lag, shift) for lag in lags for shift in (0.0, -EDGE, EDGE)]
            step = 1e-6 if self.exact else self.grid + 1e-6
            fits = [laws for laws, amounts in readings if all(abs(amounts[job] - cores[job]) <= step for job in jobs)]
            report.expect(bool(fits), where, f"at {end}: {self.kind} by its formula decides {readings[0][1]}, "
                                             f"but {({job: cores[job] for job in jobs})} was")
            report.counts["windows recomputed"] += 1
            if not fits:
                return  # What follows goes on from it.
            self.laws.update(fits[0])
            for job in jobs:
                self.laws[job].got(cores[job])


def check_controllers(cell, manifest, report, parse_cpus):
    """Cells of these policies alone with their services on one node; others have more to them than the formulas."""
    policy = next((one for one in manifest.get("policies", []) if one["name"] == cell.key[0]), None)
    experiment = manifest.get("experiment", {})
    if policy is None or policy.get("use", policy["name"]) not in LAWS or experiment["machine"].get("nodes", 1) != 1:
        return
    recorded = cell.objectives and cell.requests and cell.decisions
    whole = all(row["state"] == "served" for row in cell.requests)
    if recorded and whole and {job["job_id"] for job in cell.jobs} == set(cell.services):
        Cell(cell, policy, experiment).check(report, parse_cpus)

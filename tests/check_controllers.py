"""The part of check_results.py that is about controllers of services' cores (policies/core_controller.h): from what requests.csv
and objectives.csv tell of each window, every amount that such a policy decided is computed anew, by the laws of
controller_laws.py and autoscaler_laws.py. Simulated, amounts must be equal; on hardware an answer reaches the harness some time
after it was found, so those of a window's last milliseconds may count in the next, and a step of the grid is allowed.

Two figures are not in those records. What an instance used of its cores (hpa, vpa) is in samples.csv, exactly where a sample is
taken at each window's end: simulated, with windows that are multiples of the sampling period. On hardware the policy reads a
counter at a moment of its own, and such cells are left out. How long a request takes by itself (sponge, fa2, curve-shares) is in
the profile, which the manifest names with its hash: if that file is gone or another by now, if it was not measured on as many
cores, or if instances are rigid (their curve has penalties for threads), the cell is left out. Cells that are left out are counted
as such; that grants.csv has what decisions.csv says (check_shares.py) holds for them, too."""
import copy
import json
import math
from collections import defaultdict
from pathlib import Path

import autoscaler_laws
import controller_laws

MADE_BY = {"roma-ct": controller_laws.RomaCt, "roma-ct2": controller_laws.RomaCt2, "roma-rules": controller_laws.RomaRules,
           "kosmos": controller_laws.Kosmos, "curve-shares": controller_laws.CurveShares, "kpa": autoscaler_laws.Kpa,
           "hpa": autoscaler_laws.Hpa, "vpa": autoscaler_laws.Vpa, "sponge": autoscaler_laws.Sponge, "fa2": autoscaler_laws.Fa2}
GRID_OF = {"roma-ct2": 0.001, "roma-rules": 0.1, "kosmos": 0.001, "kpa": 1, "vpa": 0.001, "fa2": 1}
NEAREST = ("roma-ct2", "kosmos")
NEED_CPU_TIME = ("hpa", "vpa")
NEED_CURVE = ("sponge", "fa2", "curve-shares")
LAG_S = 0.005  # Of answers, on hardware.
SLACK = 2e-5  # By which recorded times, in whole microseconds, may move what is wanted.
LATE_S = 0.005  # Of a sample, after the window that it ends with.


def on_grid(cores, job, grid, least, up):
    steps = math.ceil(cores / grid - 1e-9) if up else math.floor(cores / grid + 0.5 + 1e-9)
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
    """decisions.csv: "0=0.7@0 1=0-3 2=pause" as (job, cores, node); no node where it has cores of its own."""
    for part in text.split():
        job, _, what = part.partition("=")
        if what.endswith("pause") or what == "reject":
            continue
        cores, at, node = what.partition("@")
        yield (int(job), float(cores), int(node)) if at else (int(job), float(len(machine(what))), None)


def seconds_of_steps(profile, workload, cores):
    """A step's time on 1 to `cores` cores by themselves; speeds lie on straight lines between those that were measured. None if
    the profile at hand is not that of the run, or has no such program or not as many cores."""
    try:
        content = Path(profile["file"]).read_bytes()
    except OSError:
        return None
    value = 0xcbf29ce484222325
    for byte in content:
        value = ((value ^ byte) * 0x100000001b3) & 0xffffffffffffffff
    name = f"{workload['model']} infer batch {workload['max_batch']}"
    program = next((one for one in json.loads(content)["programs"] if one["program"] == name), None)
    if f"{value:016x}" != profile["fnv1a"] or program is None:
        return None
    speed = {point["cores"]: 1 / point["step_s"]["value"] for point in program["alone"]
             if point["inter"] == 1 and point["intra"] == point["cores"]}
    if cores > max(speed):
        return None
    for k in range(1, cores + 1):
        if k not in speed:
            below, above = max(n for n in speed if n < k), min(n for n in speed if n > k)
            speed[k] = speed[below] + (speed[above] - speed[below]) * (k - below) / (above - below)
    return [1 / speed[k] for k in range(1, cores + 1)]


class Windows:
    """What a policy was told of the instances at the end of each window."""

    def __init__(self, cell, curves):
        self.cell, self.curves = cell, curves
        self.of_job, self.of_service, self.samples = defaultdict(list), defaultdict(list), defaultdict(list)
        for row in cell.requests:
            self.of_service[row["service"]].append(row)
            if row["job_id"] is not None:  # A device answered.
                self.of_job[row["job_id"]].append(row)
        for row in cell.samples:
            self.samples[row["job_id"]].append(row)

    def cpu_time(self, job, time, slack):
        """That it had used by then: 0 before its first sample. If the sample is a little late, for the decision took its time,
        the instance may have computed meanwhile, or not."""
        later = next((row for row in self.samples[job] if row["time"] >= time - 1e-6), None)
        if later is None or time == 0:
            return 0.0
        late = later["time"] - time
        if late > LATE_S:
            return None
        share = 0.5 if slack == 0 else 0.0 if slack > 0 else 1.0
        return max(0.0, later["run_time_s"] - share * max(0.0, late) * later["granted"])

    def seen(self, job, begin, end, lag, slack):
        """lag: of answers before either edge."""
        service, rows = self.cell.job_of[job]["workload"], self.of_job[job]
        objectives = [row["sla_ms"] / 1e3 for row in self.cell.objectives if row["service"] == service and row["time"] <= end]

        def answered(among):
            return [row for row in among if row["finished"] is not None and begin - lag[0] < row["finished"] <= end - lag[1]]

        def mean(values):
            return sum(values) / len(values) if values else 0
        own = answered(rows)
        given = [row for row in rows if row["dispatched"] is not None and row["dispatched"] <= end]
        there = [min(end, end if row["finished"] is None else row["finished"]) - max(begin, row["dispatched"]) for row in given]
        used = [self.cpu_time(job, time, slack) for time in (begin, end)]
        return {"objective_s": objectives[-1] if objectives else None, "length_s": end - begin, "answered": len(own),
                "mean_s": mean([row["finished"] - row["scheduled"] for row in own]),
                "mean_process_s": mean([row["finished"] - row["dispatched"] for row in own]),
                "service_mean_s": mean([row["finished"] - row["scheduled"] for row in answered(self.of_service[service])]),
                "dispatched": sum(row["dispatched"] > begin for row in given),
                "in_flight": sum(row["finished"] is None or row["finished"] > end - lag[1] for row in given),
                "mean_in_flight": sum(max(0.0, time) for time in there) / (end - begin),
                "mean_work": mean([row["work"] for row in self.of_service[service] if begin < row["sent"] <= end]),
                "cpu_s": None if None in used else used[1] - used[0],
                "most": self.cell.job_of[job]["requested_max"], "unit_s": self.curves.get(service)}


class Controller:
    """One cell's policy, replayed decision by decision."""

    def __init__(self, cell, policy, experiment, curves):
        self.cell, self.parameters = cell, policy["parameters"]
        self.kind = policy.get("use", policy["name"])
        self.grid = float(self.parameters.get("grid", GRID_OF.get(self.kind)))
        self.up = self.parameters.get("rounding", "nearest" if self.kind in NEAREST else "ceil") == "ceil"
        self.window_s = experiment["services"]["window_s"]
        self.exact = experiment["backend"] == "simulated"
        self.room = len(cell.machine) // experiment["machine"].get("nodes", 1)
        self.windows = Windows(cell, curves)
        self.laws = {job: MADE_BY[self.kind](self.parameters) for job in cell.services}
        self.wants, self.has, self.node = {}, {}, {}  # By job that runs: on the grid; decided; where.

    def gridded(self, job, cores):
        return on_grid(cores, self.cell.job_of[job], self.grid, float(self.parameters["least"]), self.up)

    def fitted(self, wants):
        """Those that together want more than their node has are cut."""
        amounts = {}
        for node in set(self.node[job] for job in wants):
            jobs = sorted(job for job in wants if self.node[job] == node)
            amounts.update(zip(jobs, fit([wants[job] for job in jobs], self.room, min(self.grid, 0.1))))
        return amounts

    def heard(self, jobs, begin, end, had, lag, slack):
        """Laws and wants after that window; the laws are copied first, since several readings of a window are tried."""
        laws = {job: copy.deepcopy(self.laws[job]) for job in jobs}
        wants = dict(self.wants)
        for job in jobs:
            wants[job] = self.gridded(job, laws[job].wanted(self.windows.seen(job, begin, end, lag, slack), had[job], slack))
        return laws, wants

    def readings(self, jobs, begin, end, had):
        lags = [(0.0, 0.0)] if self.exact else [(a, b) for a in (0.0, LAG_S) for b in (0.0, LAG_S)]
        return (self.heard(jobs, begin, end, had, lag, slack) for lag in lags for slack in (0.0, -SLACK, SLACK))

    def is_as_decided(self, wants):
        step = 1e-6 if self.exact else self.grid + 1e-6
        return all(abs(amount - self.has[job]) <= step for job, amount in self.fitted(wants).items())

    def refuse(self, row, wants, report):
        what = {job: self.has[job] for job in sorted(wants)}
        report.expect(False, self.cell.where("decisions.csv"), f"at {row['time']}: {self.kind} by its formula decides "
                                                               f"{self.fitted(wants)}, but {what} was")

    def take(self, row, machine):
        """The row's allocation, and who came and went."""
        event, _, about = row["event"].partition(" ")
        if event in ("job-finished", "job-failed"):
            for known in (self.wants, self.has, self.node):
                known.pop(int(about), None)
        for job, amount, node in allocated(row["allocation"], machine):
            self.has[job], self.node[job] = amount, node
            self.wants.setdefault(job, self.gridded(job, float(self.parameters.get("initial", 0))))
        return event

    def check(self, report, machine):
        end = None
        for row in self.cell.decisions:
            had = dict(self.has)
            if self.take(row, machine) != "window-over":
                if not self.is_as_decided(self.wants):
                    return self.refuse(row, self.wants, report)
                continue
            begin = end if end is not None else (round(row["time"] / self.window_s) - 1) * self.window_s
            end = row["time"]
            jobs = sorted(job for job in had if self.cell.job_of[job]["finish_time"] > end)
            report.counts["windows recomputed"] += 1
            first = None
            for laws, wants in self.readings(jobs, begin, end, had):
                first = first or wants
                if self.is_as_decided(wants):
                    break
            else:
                return self.refuse(row, first, report)  # What follows goes on from it.
            self.wants = wants
            self.laws.update(laws)
            for job in jobs:
                self.laws[job].got(self.has[job])


def is_known(kind, cell, experiment, curves):
    """What a law needs beside requests."""
    if kind in NEED_CURVE:
        malleable = all(job["class"] != "rigid" for job in cell.jobs)
        return malleable and all(curves[job["workload"]] for job in cell.jobs)
    if kind in NEED_CPU_TIME:
        windows = experiment["services"]["window_s"] * 1e3 / experiment["sampling"]["period_ms"]
        return experiment["backend"] == "simulated" and cell.has["samples"] and abs(windows - round(windows)) < 1e-9
    return True


def check_controllers(cell, manifest, report, parse_cpus):
    """Cells of these policies alone with services; others have more to them than the laws."""
    policy = next((one for one in manifest.get("policies", []) if one["name"] == cell.key[0]), None)
    experiment = manifest.get("experiment", {})
    kind = policy and policy.get("use", policy["name"])
    if kind not in MADE_BY:
        return
    recorded = cell.objectives and cell.requests and cell.decisions
    whole = all(row["state"] == "served" for row in cell.requests)
    if not (recorded and whole and {job["job_id"] for job in cell.jobs} == set(cell.services)):
        return
    curves = {}
    if kind in NEED_CURVE and "profile" in experiment:
        curves = {one["name"]: seconds_of_steps(experiment["profile"], one, len(cell.machine)) for one in experiment["workload"]}
    if not is_known(kind, cell, experiment, curves or defaultdict(lambda: None)):
        report.counts["controllers left out"] += 1
        return
    Controller(cell, policy, experiment, curves).check(report, parse_cpus)

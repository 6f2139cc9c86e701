#!/usr/bin/env python3
"""Checks the invariants of any results folder: tests/check_results.py RESULTS

RESULTS is a run (results/<experiment>/<run>) or a folder of runs. Checked are, for every whole cell: every arrival ends
exactly once; cores have one owner at a time (unless the manifest says that the policy oversubscribes); grants lie within
[min, max] and the machine; times are in order and derived columns follow from them; malleable tenants have no more
runnable compute threads than cores (unless the experiment's container clients do not follow); summary.csv follows from the
rows. Of a sweep every point is checked. Exit 0: all hold, 1: some do not, 2: no results.
"""
import csv
import gzip
import json
import math
import re
import sys
from collections import Counter
from pathlib import Path

import check_controllers
import check_jobs
import check_memory
import check_requests
import check_shares
import check_stages
import check_summary
from check_jobs import TOLERANCE_S, close

CAUSES = ("grant", "halving", "cpuset", "quota", "signal", "ctl", "counter", "auto")
ACTUATORS = ("cpuset", "quota", "affinity", "runtime", "message", "stop")
MAX_SHOWN = 40


class NoResults(Exception):
    """What was given can't be read as results at all."""


class Report:
    """Collects the problems of one run, each with the file it is in."""

    def __init__(self):
        self.problems = []
        self.counts = Counter()

    def expect(self, holds, where, message):
        if not holds:
            self.problems.append(f"{where}: {message}")


def parse_cpus(text):
    cpus = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


# The columns that experiments/records/rows.h lists: tests/plots/columns_test.py holds the two to each other.
TYPES = {
    "jobs.csv": {"job_id": int, "requested_min": int, "requested_preferred": int, "requested_max": int, "priority": int,
                 "submission_time": float, "starting_time": float, "finish_time": float, "waiting_time": float,
                 "execution_time": float, "turnaround_time": float, "stretch": float, "threads": int, "resizes": int,
                 "allocated_resources": parse_cpus, "steps": int, "images": int, "alone_s": float, "workload": str, "class": str,
                 "state": str, "reason": str, "lateness": float},
    "grants.csv": {"time": float, "job_id": int, "kind": str, "cores": parse_cpus, "owned": parse_cpus, "threads": int,
                   "amount": float, "owned_amount": float},
    "decisions.csv": {"decision": int, "time": float, "event": str, "allocation": str, "decision_us": float, "settle_us": float},
    "samples.csv": {"time": float, "job_id": int, "granted_cores": parse_cpus, "granted": int, "runnable_threads": int,
                    "compute_threads": int, "settling": int, "run_time_s": float, "run_queue_wait_s": float,
                    "involuntary_switches": int, "steps": int, "images": int, "migrations": int,
                    "throttled_us": int, "pressure_us": int, "spin_time_s": float, "amount": float},
    "steps.csv": {"job_id": int, "step": int, "time": float, "duration_ms": float, "threads": int, "loss": float},
    "resizes.csv": {"time": float, "job_id": int, "cause": str, "inter_before": int, "intra_before": int,
                    "inter_after": int, "intra_after": int, "cores": parse_cpus, "op": str, "taken_us": float},
    "actuations.csv": {"time": float, "job_id": int, "cores": parse_cpus, "actuator": str, "fast_us": float,
                       "runtime_us": float},
    "memory.csv": {"time": float, "job_id": int, "from": parse_cpus, "to": parse_cpus, "outcome": str, "bytes": int,
                   "left_bytes": int, "taken_us": float},
    "interference.csv": {"victim": int, "culprit": str, "waited_s": float},
    "stages.csv": check_stages.TYPES,
    "requests.csv": check_requests.TYPES,
    "devices.csv": check_requests.HOLD_TYPES,
    "objectives.csv": {"time": float, "service": str, "sla_ms": float, "window_s": float},
}

# What [records] can switch off.
TYPES_OFF = ("grants", "decisions", "samples", "steps", "resizes", "actuations")


def finite(text):
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("not finite")
    return value


# What a cell says, where an empty one says nothing or not all text is allowed.
VALUE_OF = {int: lambda text: int(text) if text else None, float: lambda text: finite(text) if text else None}


def read_rows(path, report):
    """The rows of a CSV file as dicts of typed values; an empty cell is None. Bad rows are problems and left out."""
    types = TYPES[path.name]
    rows = []
    packed = path.with_name(path.name + ".gz")
    try:
        with gzip.open(packed, "rt", newline="") if packed.exists() else path.open(newline="") as file:
            reader = csv.reader(file, strict=True)
            names = next(reader, [])
            missing = [name for name in types if name not in names]
            if missing:
                report.expect(False, path, f"column {', '.join(missing)} is missing")
                return []
            columns = [(name, names.index(name), VALUE_OF.get(kind, kind)) for name, kind in types.items()]
            for row in filter(None, reader):
                try:
                    rows.append({name: value(row[i]) for name, i, value in columns})
                except (IndexError, ValueError):
                    report.expect(False, f"{path}:{reader.line_num}", "a cell is no value of its column, or the row is too short")
    except (OSError, EOFError, csv.Error, UnicodeDecodeError) as error:
        report.expect(False, path, f"can't be read: {error}")
    return rows


class Cell:
    """One policy x elasticity x trial with its rows."""

    def __init__(self, folder, manifest, report):
        self.folder = folder
        workloads = manifest.get("experiment", {}).get("workload", [])
        self.chaos = {load["name"] for load in workloads if load.get("model", "").partition(":")[0] == "chaos"}
        self.trial = int(folder.name)
        self.elasticity = folder.parent.name
        self.policy = folder.parent.parent.name
        self.key = (self.policy, self.elasticity, self.trial)
        info = read_json(folder / "cell.json", report) or {}
        self.status = info.get("status", "")
        self.submitted = info.get("submitted")
        self.marks = info.get("marks", [])
        self.machine = parse_cpus(info.get("machine_cores", ""))
        recorded = (info.get("policy"), info.get("elasticity"), info.get("trial"))
        report.expect(recorded == self.key, folder / "cell.json", f"is of another cell: {recorded}")
        records = manifest.get("experiment", {}).get("records", {})
        self.has = {name: records.get(name, True) for name in TYPES_OFF}
        for name, there in self.has.items():
            path = folder / f"{name}.csv"
            report.expect(there or not (path.exists() or path.with_name(path.name + ".gz").exists()), path, "is there, though [records] says that it is off")
        self.jobs, self.grants, self.decisions, self.samples, self.steps, self.resizes, self.actuations = (
            read_rows(folder / f"{name}.csv", report) if self.has.get(name, True) else []
            for name in ("jobs", *TYPES_OFF))
        self.decisions.sort(key=lambda row: row["decision"])  # They are written when they have settled.
        self.sharers = {row["job_id"] for row in self.grants if row["amount"] < len(row["cores"])}
        path = folder / "interference.csv"  # On request only.
        self.interference = read_rows(path, report) if path.exists() else None
        path = folder / "memory.csv"  # Where tenants have changed NUMA nodes.
        moved = path.exists() or path.with_name(path.name + ".gz").exists()
        self.memory_moves = read_rows(path, report) if moved else []
        self.memory = manifest.get("experiment", {}).get("machine", {}).get("memory")
        # Programs of others that count on their threads are left alone, and marked.
        self.rigid = {int(found[1]) for mark in info.get("marks", []) if (found := re.match(r"job (\d+) is rigid: ", mark))}
        self.commands = {load["name"] for load in workloads if load.get("command")}
        self.with_library = {load["name"] for load in workloads if load.get("client") == "library"}
        self.pipelines = {load["name"]: load for load in workloads if load.get("mode") == "pipeline"}
        path = folder / "stages.csv"
        recorded = path.exists() or path.with_name(path.name + ".gz").exists()
        self.stages = read_rows(path, report) if recorded else []
        self.services, self.sent_requests = info.get("services", []), info.get("requests", 0)
        recorded = bool(self.services) and records.get("requests", True)
        self.requests = read_rows(folder / "requests.csv", report) if recorded else []
        # Where services have objectives, and devices were held.
        self.objectives, self.holds = (
            read_rows(path, report) if recorded and (path.exists() or path.with_name(path.name + ".gz").exists()) else []
            for path in (folder / "objectives.csv", folder / "devices.csv"))
        self.job_of = {job["job_id"]: job for job in self.jobs}

    def where(self, file):
        return self.folder / file


def read_json(path, report):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        report.expect(False, path, f"can't be read: {error}")
        return None


class Ownership:
    """Replays grants.csv, row by row: who owns which core, and how much of a node its sharers may use together."""

    def __init__(self, cell, exclusive, report):
        self.cell, self.exclusive, self.report = cell, exclusive, report
        self.where = cell.where("grants.csv")
        self.owned = {}  # job -> cores, from submitted to released
        self.shares = {}  # job -> amount that it has, or has not given up, of cores that it shares; only of those that share
        self.amounts = {}  # job -> amount of its latest grant, once started
        self.resizes = Counter()
        self.times = {}

    def replay(self):
        last = 0.0
        for row in self.cell.grants:
            self.report.expect(row["time"] >= last - TOLERANCE_S, self.where, f"time goes back at {row['time']}")
            last = max(last, row["time"])
            self.apply(row)
        for job in self.cell.jobs:
            self.report.expect(self.resizes[job["job_id"]] == job["resizes"], self.where,
                               f"job {job['job_id']} was resized {self.resizes[job['job_id']]} times here, "
                               f"{job['resizes']} in jobs.csv")

    def apply(self, row):
        job, kind = row["job_id"], row["kind"]
        if kind == "submitted":
            self.owned[job] = set()
            return
        known = job in self.owned
        self.report.expect(known, self.where, f"job {job} is {kind} at {row['time']} before submission or after its end")
        if not known:
            return
        if kind == "released":
            self.report.expect(not row["owned"], self.where, f"job {job} keeps cores after its end")
            del self.owned[job]
            self.shares.pop(job, None)
            return
        self.shares.pop(job, None)
        if row["owned_amount"] < len(row["owned"]):
            self.shares[job] = row["owned_amount"]
        self.check_cores(row)
        self.owned[job] = row["owned"]

    def check_cores(self, row):
        job, at, before = row["job_id"], f"job {row['job_id']} at {row['time']}", self.owned[row["job_id"]]
        report, where = self.report, self.where
        report.expect(row["owned"] <= self.cell.machine, where, f"{at}: cores outside the machine")
        if row["kind"] == "granted":
            report.expect(row["owned"] == before | row["cores"], where, f"{at}: owned is not what it had and got")
            self.count_grant(row)
        else:
            report.expect(row["kind"] == "settled", where, f"{at}: unknown kind {row['kind']}")
            report.expect(row["owned"] == row["cores"] and row["owned"] <= before, where,
                          f"{at}: settled on cores that are not its grant")
        if not self.exclusive:
            return
        together = self.shares.get(job, 0)
        for other, cores in self.owned.items():
            if other == job or not cores & row["owned"]:
                continue
            if job in self.shares and other in self.shares:
                together += self.shares[other]
                continue
            report.expect(False, where, f"{at}: cores {sorted(cores & row['owned'])} are job {other}'s too")
        report.expect(together <= len(row["owned"]) + 1e-9, where, f"{at}: the shares of its cores add up to {together}")

    def count_grant(self, row):
        job, count, amount = row["job_id"], len(row["cores"]), row["amount"]
        request = self.cell.job_of.get(job)
        if request is not None:
            paused = count == 0 and job in self.amounts
            most = request["requested_max"] if self.exclusive else len(self.cell.machine)
            least = request["requested_min"] if amount == count else 0.001  # Of a share.
            self.report.expect(amount <= count, self.where,
                               f"job {job} at {row['time']}: {amount} cores' time granted on {count} cores")
            self.report.expect(paused or least <= amount <= most, self.where,
                               f"job {job} at {row['time']}: {amount} cores granted, not within [min, max]")
            if job not in self.amounts:
                self.report.expect(request["starting_time"] is not None and
                                   close(request["starting_time"], row["time"]), self.where,
                                   f"job {job}: its first grant is not at its starting_time")
        self.resizes[job] += self.amounts.get(job, amount) != amount
        self.amounts[job] = amount


def check_samples(cell, follows, report):
    where, last = cell.where("samples.csv"), {}
    counters = ("time", "run_time_s", "spin_time_s", "run_queue_wait_s", "involuntary_switches", "steps", "images", "migrations")
    optional = ("throttled_us", "pressure_us")  # Empty where a tenant has no cgroup of its own.
    for row in cell.samples:
        at = f"job {row['job_id']} at {row['time']}"
        report.expect(row["job_id"] in cell.job_of, where, f"{at}: no such job")
        report.expect(row["granted"] == math.ceil(row["amount"]), where, f"{at}: granted is not its amount, rounded up")
        report.expect(row["amount"] <= len(row["granted_cores"]), where, f"{at}: its amount is more than its cores")
        report.expect(row["granted_cores"] <= cell.machine, where, f"{at}: cores outside the machine")
        report.expect(row["spin_time_s"] <= row["run_time_s"] + TOLERANCE_S, where, f"{at}: it spun for longer than it ran")
        before = last.get(row["job_id"], row)
        for name in counters:
            report.expect(row[name] >= before[name], where, f"{at}: {name} goes back")
        for name in optional:
            known = row[name] is not None and before[name] is not None
            report.expect(not known or 0 <= before[name] <= row[name], where, f"{at}: {name} goes back")
        last[row["job_id"]] = row
        # A chaos tenant is there to break this, and a program of others may have threads beside those that it was told to have.
        chaos = cell.job_of.get(row["job_id"], {}).get("workload") in cell.chaos | cell.with_library
        malleable = cell.job_of.get(row["job_id"], {}).get("class") == "malleable"
        if malleable and follows and not row["settling"] and not chaos and row["job_id"] not in cell.rigid:
            report.expect(row["runnable_threads"] <= row["granted"], where,
                          f"{at}: {row['runnable_threads']} runnable threads on {row['granted']} cores")


def check_steps(cell, report):
    where, last = cell.where("steps.csv"), {}
    for row in cell.steps:
        job, at = cell.job_of.get(row["job_id"]), f"job {row['job_id']} step {row['step']}"
        before = last.get(row["job_id"])
        if before is not None:
            report.expect(row["step"] > before["step"], where, f"{at}: comes after step {before['step']}")
            report.expect(row["time"] >= before["time"] - TOLERANCE_S, where, f"{at}: time goes back")
        last[row["job_id"]] = row
        if job is None or job["starting_time"] is None:
            report.expect(False, where, f"{at}: of a job that never started")
            continue
        report.expect(job["starting_time"] <= row["time"] <= job["finish_time"] + TOLERANCE_S, where,
                      f"{at}: not between start and finish of its job")
        report.expect(row["step"] < job["steps"], where, f"{at}: jobs.csv counts {job['steps']} steps only")


def check_actuations(cell, report):
    where, granted = cell.where("actuations.csv"), {}
    for grant in cell.grants:
        if grant["kind"] == "granted":
            granted.setdefault(grant["job_id"], []).append((grant["time"], grant["cores"]))
    for row in cell.actuations:
        at = f"job {row['job_id']} at {row['time']}"
        report.expect(row["actuator"] in ACTUATORS, where, f"{at}: unknown actuator {row['actuator']}")
        times = [row[name] for name in ("fast_us", "runtime_us") if row[name] is not None]
        report.expect((row["actuator"] == "stop") == (not row["cores"]), where, f"{at}: only a pause stops, and has no cores")
        report.expect(times and min(times) >= 0, where, f"{at}: no duration, or a negative one")
        report.expect(any(time <= row["time"] + TOLERANCE_S and cores == row["cores"]
                          for time, cores in granted.get(row["job_id"], ())), where,
                      f"{at}: moved to cores that it was not granted")


def check_resizes(cell, follows, report):
    where = cell.where("resizes.csv")
    for row in cell.resizes:
        job, at = cell.job_of.get(row["job_id"]), f"job {row['job_id']} at {row['time']}"
        if job is None or job["starting_time"] is None:
            report.expect(False, where, f"{at}: of a job that never started")
            continue
        report.expect(job["starting_time"] - TOLERANCE_S <= row["time"] <= job["finish_time"] + TOLERANCE_S, where,
                      f"{at}: not between start and finish of its job")
        report.expect(row["cause"] in CAUSES, where, f"{at}: unknown cause {row['cause']}")
        report.expect(row["taken_us"] >= 0, where, f"{at}: negative duration")
        report.expect(row["cores"] <= cell.machine, where, f"{at}: cores outside the machine")
        helpers = max(0, row["intra_after"] - 1)
        if job["workload"] in cell.pipelines:  # As many as find a core beside the calls.
            helpers = min(helpers, max(0, len(row["cores"]) - row["inter_after"]))
            report.expect(row["intra_after"] <= max(1, len(row["cores"])) or not follows, where,
                          f"{at}: {row['intra_after']} threads in a call on {len(row['cores'])} cores")
        threads = row["inter_after"] + helpers
        others = job["workload"] in cell.commands  # Where it keeps its threads, that is a mark.
        report.expect((threads <= len(row["cores"]) or others or not follows) and (threads > 0 or not row["cores"]), where,
                      f"{at}: {threads} threads on {len(row['cores'])} cores")


def check_interference(cell, report):
    """What a tenant lost to others is all that it waited, by its last sample."""
    where, waited, lost, rows = cell.where("interference.csv"), {}, Counter(), Counter()
    for sample in cell.samples:
        waited[sample["job_id"]] = max(waited.get(sample["job_id"], 0.0), sample["run_queue_wait_s"])
    for row in cell.interference:
        victim, culprit = row["victim"], row["culprit"]
        report.expect(row["waited_s"] >= 0, where, f"job {victim} lost less than nothing to {culprit}")
        report.expect(culprit in ("self", "other") or (culprit != str(victim) and culprit in map(str, cell.job_of)), where,
                      f"job {victim} lost time to {culprit}, which is no other job")
        lost[victim] += row["waited_s"]
        rows[victim] += 1
    for job in waited.keys() | lost.keys():
        # Every row is rounded for itself.
        report.expect(abs(lost[job] - waited.get(job, 0.0)) <= TOLERANCE_S + 1e-6 * rows[job], where,
                      f"job {job} lost {lost[job]:.6f} s to others, but waited {waited.get(job, 0.0):.6f} s")


def check_decisions(cell, report):
    where, last = cell.where("decisions.csv"), None
    for row in cell.decisions:
        at = f"decision {row['decision']}"
        if last is not None:
            report.expect(row["decision"] != last["decision"], where, f"{at} is there twice")
            report.expect(row["time"] >= last["time"] - TOLERANCE_S, where, f"{at}: time goes back")
        report.expect(row["decision_us"] >= 0 and (row["settle_us"] or 0) >= 0, where, f"{at}: negative duration")
        last = row


def check_whole(run, manifest, cells, report):
    """A run that says it is over has all its cells, and nothing half-written."""
    over = manifest.get("status") in ("done", "failed")
    if not over:
        print(f"{run}: not finished ({manifest.get('status', 'no status')}); only whole cells are checked")
        return
    report.expect(manifest.get("cells", len(cells)) == len(cells), run / "manifest.json",
                  f"plans {manifest.get('cells')} cells, {len(cells)} are whole")
    for partial in run.glob("*/*/*.partial"):
        report.expect(False, partial, "is half-written in a run that says it is over")


def check_cell(cell, manifest, report):
    exclusive = not any(policy["name"] == cell.policy and policy["oversubscribes"] for policy in manifest["policies"])
    traces = manifest.get("traces", [])
    check_jobs.check_arrivals(cell, traces[cell.trial - 1] if cell.trial <= len(traces) else None, report)
    for job in cell.jobs:
        check_jobs.check_job(job, cell, exclusive, report)
    if cell.has["grants"]:
        Ownership(cell, exclusive, report).replay()
    # A client in a container may be told not to follow, or to follow late: that is what is measured then.
    follows = manifest.get("experiment", {}).get("container", {}).get("client", "on") == "on"
    check_samples(cell, follows, report)
    check_stages.check_stages(cell, cell.pipelines, report)
    if cell.has["steps"]:
        check_steps(cell, report)
    check_resizes(cell, follows, report)
    check_actuations(cell, report)
    check_memory.check_memory(cell, report)
    check_decisions(cell, report)
    if cell.interference is not None:
        check_interference(cell, report)
    requests = manifest.get("requests", [])
    if cell.services and manifest.get("experiment", {}).get("records", {}).get("requests", True):
        asked = manifest["clients"][cell.trial - 1]["requests"] if "clients" in manifest else 0
        check_requests.check_requests(cell, requests[cell.trial - 1] if cell.trial <= len(requests) else None, asked, report)
        check_requests.check_holds(cell, manifest["experiment"].get("device") or [], report)
    check_controllers.check_controllers(cell, manifest, report, parse_cpus)
    check_shares.check_shares(cell, manifest, report, parse_cpus)
    report.counts.update(cells=1, jobs=len(cell.jobs), grants=len(cell.grants), samples=len(cell.samples),
                         steps=len(cell.steps), resizes=len(cell.resizes), requests=len(cell.requests))


def check_run(run):
    report = Report()
    manifest = read_json(run / "manifest.json", report)
    if not isinstance(manifest, dict) or "policies" not in manifest:
        raise NoResults(f"{run / 'manifest.json'}: is not the manifest of a run")
    folders = sorted(path.parent for path in run.glob("*/*/*/cell.json") if path.parent.name.isdigit())
    cells = []
    for folder in folders:
        broken = len(report.problems)
        cell = Cell(folder, manifest, report)
        cells.append(cell)
        # Rows that can't be read make every other check fail too: say the cause only.
        if len(report.problems) == broken:
            check_cell(cell, manifest, report)
    check_whole(run, manifest, cells, report)
    if not report.problems:
        check_jobs.check_same_trace(cells, report)
        check_jobs.check_alone(cells, report)
        check_summary.check_summary(run, cells, report)
        check_requests.check_services(run, cells, report)
    return report


def points_of(run):
    """The runs of a sweep's points; the run itself if it is none."""
    try:
        points = json.loads((run / "manifest.json").read_text()).get("points")
    except (OSError, ValueError, AttributeError):
        points = None
    return [run] if points is None else [run / point["name"] for point in points]


def find_runs(path):
    if (path / "manifest.json").is_file():
        return points_of(path)
    found = {manifest.parent for depth in ("*", "*/*") for manifest in path.glob(f"{depth}/manifest.json")}
    runs = sorted({point for run in found for point in points_of(run)})
    if not runs:
        raise NoResults(f"{path}: there is no run here (no manifest.json)")
    return runs


def print_report(run, report):
    for problem in report.problems[:MAX_SHOWN]:
        print(problem)
    if len(report.problems) > MAX_SHOWN:
        print(f"... and {len(report.problems) - MAX_SHOWN} more")
    if report.problems:
        print(f"BROKEN {run}: {len(report.problems)} violations")
    else:
        print(f"OK {run}: every invariant holds in " + ", ".join(f"{n} {what}" for what, n in report.counts.items()))


def main(arguments):
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    try:
        reports = [(run, check_run(run)) for run in find_runs(Path(arguments[0]))]
    except NoResults as error:
        print(f"check_results.py: {error}", file=sys.stderr)
        return 2
    for run, report in reports:
        print_report(run, report)
    return 1 if any(report.problems for _, report in reports) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

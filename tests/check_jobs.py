"""The part of check_results.py that is about jobs.csv: every arrival ends exactly once, times are in order and derived columns
follow from them, and the cells of a trial have the same jobs."""
import math
from collections import Counter

TOLERANCE_S = 5e-6  # Times are rounded to microseconds, and derived from unrounded ones.
CLASSES = ("rigid", "moldable", "malleable")
STATES = ("finished", "failed", "rejected", "cancelled", "declined")


def close(a, b, relative=1e-4):
    return math.isclose(a, b, rel_tol=relative, abs_tol=TOLERANCE_S)


def check_arrivals(cell, trace, report):
    """Every arrival of the trace was submitted and ended exactly once."""
    where = cell.where("jobs.csv")
    ends = Counter(job["job_id"] for job in cell.jobs)
    for job, count in ends.items():
        report.expect(count == 1, where, f"job {job} ends {count} times")
    for kind in ("submitted", "released") if cell.has["grants"] else ():
        rows = Counter(row["job_id"] for row in cell.grants if row["kind"] == kind)
        report.expect(rows == Counter(set(ends)), cell.where("grants.csv"),
                      f"jobs {kind} are not the jobs that ended: {sorted((rows - ends) + (ends - rows))}")
    report.expect(cell.submitted == len(ends), where, f"{cell.submitted} jobs were submitted, {len(ends)} ended")
    if trace is None or cell.status != "done":
        return
    if isinstance(trace, dict):  # A long one: only its length and a hash are kept.
        report.expect(set(ends) == set(range(trace["arrivals"])), where,
                      f"{trace['arrivals']} arrivals, but {len(ends)} jobs, or others")
        return
    report.expect(set(ends) == set(range(len(trace))), where,
                  f"{len(trace)} arrivals, but jobs {sorted(set(ends) ^ set(range(len(trace))))} do not match")
    for index, arrival in enumerate(trace):
        job = cell.job_of.get(index)
        if job is None:
            continue
        report.expect(job["workload"] == arrival["workload"], where, f"job {index} is not the workload that arrived")
        report.expect(close(job["submission_time"], arrival["arrival_s"]), where,
                      f"job {index} was not submitted when its trace has it arrive")


def check_job(job, cell, exclusive, report):
    where, name = cell.where("jobs.csv"), f"job {job['job_id']}"
    submitted, started, finished = job["submission_time"], job["starting_time"], job["finish_time"]
    report.expect(job["state"] in STATES, where, f"{name} has no known state: {job['state']}")
    # A job of a trace may be less elastic than its cell.
    report.expect(job["class"] in CLASSES[:CLASSES.index(cell.elasticity) + 1], where,
                  f"{name} is {job['class']} in a {cell.elasticity} cell")
    report.expect(1 <= job["requested_min"] <= job["requested_preferred"] <= job["requested_max"], where,
                  f"{name} asks for no possible number of cores")
    report.expect(submitted >= 0 and finished >= submitted - TOLERANCE_S, where, f"{name} ends before it is submitted")
    report.expect(close(job["turnaround_time"], finished - submitted), where,
                  f"{name}: turnaround_time is not finish - submission")
    report.expect(job["lateness"] >= 0, where, f"{name} was handed over before it arrived")
    if started is None:
        report.expect(job["state"] != "finished", where, f"{name} finished but never started")
        return
    report.expect(submitted + job["lateness"] - TOLERANCE_S <= started <= finished + TOLERANCE_S, where,
                  f"{name}: its start is not between submission and finish")
    report.expect(close(job["waiting_time"], started - submitted), where, f"{name}: waiting_time is not start - submission")
    report.expect(close(job["execution_time"], finished - started), where, f"{name}: execution_time is not finish - start")
    if job["execution_time"] > 1e-3:
        report.expect(job["stretch"] is not None and
                      close(job["stretch"], job["turnaround_time"] / job["execution_time"], 1e-2), where,
                      f"{name}: stretch is not turnaround / execution")
    cores = job["allocated_resources"]
    report.expect(cores <= cell.machine, where, f"{name} was allocated cores outside the machine")
    # A policy that oversubscribes says where the kernel may put the threads, which may be more than max.
    # Nor does one that has a share of its node's cores, which are all where its threads may be.
    may_exceed = not exclusive or job["job_id"] in cell.sharers
    report.expect(job["requested_min"] <= len(cores) and (len(cores) <= job["requested_max"] or may_exceed), where,
                  f"{name} was allocated {len(cores)} cores, not within [min, max]")


def check_same_trace(cells, report):
    """One trace is replayed for every policy and elasticity of a trial."""
    first = {}
    for cell in cells:
        if cell.status != "done":
            continue
        fields = ("job_id", "workload", "priority", "requested_min", "requested_preferred", "requested_max")
        jobs = sorted(tuple(job[field] for field in fields) for job in cell.jobs)
        other, expected = first.setdefault(cell.trial, (cell, jobs))
        report.expect(jobs == expected, cell.where("jobs.csv"), f"other jobs than in {other.folder}")


def check_alone(cells, report):
    """What a step takes alone is the same for all jobs of one workload, class and preferred number of cores."""
    first = {}
    for cell in cells:
        for job in cell.jobs:
            report.expect(job["alone_s"] is None or job["alone_s"] >= 0, cell.where("jobs.csv"),
                          f"job {job['job_id']}: alone_s is less than nothing")
            if not job["alone_s"] or not job["steps"] or job["state"] != "finished":
                continue
            step = first.setdefault((job["workload"], job["class"], job["requested_preferred"]), job["alone_s"] / job["steps"])
            report.expect(close(job["alone_s"], step * job["steps"]), cell.where("jobs.csv"),
                          f"job {job['job_id']}: alone_s is not that of other jobs like it")

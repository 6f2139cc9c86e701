"""The part of check_results.py that is about summary.csv of a run: it follows from the rows of the cells."""
import bisect
import csv
import math
from collections import Counter


def mean(values):
    return sum(values) / len(values) if values else 0.0


def segments(cell):
    """By job, in order of time: (begin, end, cores, runnable threads). A sample holds until the job's next one or its end; but
    from the start of any job on, what the next one says."""
    starts = sorted({job["starting_time"] for job in cell.jobs if job["starting_time"] is not None})
    by_job = {job["job_id"]: [] for job in cell.jobs}
    for row in sorted(cell.samples, key=lambda row: row["time"]):
        by_job[row["job_id"]].append(row)
    return {job["job_id"]: list(segments_of(job, by_job[job["job_id"]], starts)) for job in cell.jobs}


def segments_of(job, samples, starts):
    end = job["finish_time"]
    samples = [row for row in samples if row["time"] <= end]
    if not samples:
        return
    times = [row["time"] for row in samples]
    begin = times[0] if job["starting_time"] is None else min(job["starting_time"], times[0])
    inner = starts[bisect.bisect_left(starts, begin):bisect.bisect_left(starts, end)]
    instants = sorted({begin, *times, *inner, end})
    for now, then in zip(instants, instants[1:]):
        seen = bisect.bisect_right(times, now) - 1  # The latest sample, -1 if there is none.
        start = bisect.bisect_right(starts, now) - 1
        stale = seen < 0 or (start >= 0 and times[seen] < starts[start])
        row = samples[seen + 1 if stale and seen + 1 < len(samples) else seen]
        yield now, then, row["granted_cores"], row["runnable_threads"]


def machine_load(found):
    """The integrals of C, the distinct cores that are granted, and of max(0, R - C)."""
    begins = sorted((segment for of_job in found.values() for segment in of_job), key=lambda segment: segment[0])
    instants = sorted({time for segment in begins for time in segment[:2]})
    cores = excess = 0.0
    running, taken = [], 0
    for now, then in zip(instants, instants[1:]):
        while taken < len(begins) and begins[taken][0] <= now:
            running.append(begins[taken])
            taken += 1
        running = [segment for segment in running if segment[1] > now]
        count = len(set().union(*(segment[2] for segment in running)))
        cores += (then - now) * count
        excess += (then - now) * max(0, sum(segment[3] for segment in running) - count)
    return cores, excess


def tenant_loads(found):
    """The same of each tenant with its own cores and threads."""
    return [(sum((end - begin) * len(cores) for begin, end, cores, _ in of_job),
             sum((end - begin) * max(0, threads - len(cores)) for begin, end, cores, threads in of_job))
            for of_job in found.values()]


def total(cell, column):
    """The sum over jobs of a counter at its last known value; None if nobody knows it."""
    ends = {job["job_id"]: job["finish_time"] for job in cell.jobs}
    last = {}
    for row in cell.samples:
        if row[column] is not None and row["time"] <= ends.get(row["job_id"], -1):
            last[row["job_id"]] = max(last.get(row["job_id"], 0), row[column])
    return sum(last.values()) if last else None


def expected_summary(cell):
    ended = [job for job in cell.jobs if job["state"] == "finished"]
    counts = Counter(job["state"] for job in cell.jobs)
    finished = [job for job in ended if job["job_id"] not in cell.services]  # Services last as long as the trace.
    makespan = 0.0
    if cell.jobs:
        makespan = max(job["finish_time"] for job in cell.jobs) - min(job["submission_time"] for job in cell.jobs)
    best, progress = {}, []
    for job in finished:
        step = job["execution_time"] / max(1, job["steps"])
        best[job["workload"]] = min(step, best.get(job["workload"], step))
    turnarounds = [job["finish_time"] - job["submission_time"] for job in finished]
    for job, turnaround in zip(finished, turnarounds):
        if turnaround > 0:
            progress.append(max(1, job["steps"]) * best[job["workload"]] / turnaround)
    slowdowns = [turnaround / job["alone_s"] for job, turnaround in zip(finished, turnarounds) if job["alone_s"]]
    squares = sum(value * value for value in progress)
    known = {
        "makespan_s": makespan,
        "throughput_jobs_per_hour": len(finished) * 3600 / makespan if makespan > 0 else 0.0,
        "mean_wait_s": mean([job["waiting_time"] for job in finished]),
        "mean_execution_s": mean([job["execution_time"] for job in finished]),
        "max_wait_s": max([job["waiting_time"] for job in finished], default=0.0),
        "mean_turnaround_s": mean(turnarounds),
        "p95_turnaround_s": sorted(turnarounds)[math.ceil(len(turnarounds) * 0.95) - 1] if turnarounds else 0.0,
        "mean_stretch": mean([job["stretch"] or 0.0 for job in finished]),
        "mean_slowdown": mean(slowdowns) if slowdowns else None,
        "jain_index": sum(progress) ** 2 / (len(progress) * squares) if squares else 1.0,
        "jobs": len(cell.jobs),
        "finished": len(ended),
        "failed": counts["failed"],
        "rejected": counts["rejected"],
        "cancelled": counts["cancelled"],
        "lost": len(cell.jobs) - len(ended) - counts["declined"],
        "granted_core_s": granted_core_seconds(cell) if cell.has["grants"] else None,
        "device_busy_s": sum(row["planned_end"] - row["begin"] for row in cell.holds) if cell.holds else None,
        "node_moves": len(cell.memory_moves) or None,
        "memory_moved_mb": sum(row["bytes"] for row in cell.memory_moves) / 1e6 if cell.memory_moves else None,
        "marks": "; ".join(cell.marks).replace("\n", " "),
        "marked": int(bool(cell.marks)),
        "resizes": sum(job["resizes"] for job in cell.jobs),
    }
    return known | (sampled_summary(cell, makespan) if cell.has["samples"] else dict.fromkeys(SAMPLED))


def granted_core_seconds(cell):
    held, whole = {}, 0.0
    for row in cell.grants:
        since, amount = held.get(row["job_id"], (0.0, 0.0))
        whole += amount * (row["time"] - since)
        held[row["job_id"]] = (row["time"], row["owned_amount"])
    return whole


# What only samples tell; empty cells of summary.csv without them.
SAMPLED = ("core_utilization", "oversubscription", "tenant_oversubscription", "worst_tenant_oversubscription",
           "runqueue_wait_s_per_core_s", "involuntary_switches_per_core_s", "migrations_per_core_s", "throttled_s_per_core_s",
           "pressure_s_per_core_s", "images_per_s", "used_core_s")


def sampled_summary(cell, makespan):
    found = segments(cell)
    core_seconds, excess = machine_load(found)
    tenants = tenant_loads(found)
    machine_seconds = len(cell.machine) * makespan

    def share(part, whole):
        return part / whole if whole > 0 else 0.0

    def per_core_second(column, scale=1.0):
        known = total(cell, column)
        if core_seconds <= 0:
            return None if column.endswith("_us") else 0.0
        return None if known is None and column.endswith("_us") else (known or 0) * scale / core_seconds

    return {
        "core_utilization": share((total(cell, "run_time_s") or 0) - (total(cell, "spin_time_s") or 0), machine_seconds),
        "used_core_s": (total(cell, "run_time_s") or 0) - (total(cell, "spin_time_s") or 0),
        "oversubscription": share(excess, core_seconds),
        "tenant_oversubscription": share(sum(beyond for _, beyond in tenants), core_seconds),
        "worst_tenant_oversubscription": max((share(beyond, cores) for cores, beyond in tenants), default=0.0),
        "runqueue_wait_s_per_core_s": per_core_second("run_queue_wait_s"),
        "involuntary_switches_per_core_s": per_core_second("involuntary_switches"),
        "migrations_per_core_s": per_core_second("migrations"),
        "throttled_s_per_core_s": per_core_second("throttled_us", 1e-6),
        "pressure_s_per_core_s": per_core_second("pressure_us", 1e-6),
        "images_per_s": sum(job["images"] for job in cell.jobs) / makespan if makespan > 0 else 0.0,
    }


def says(text, value):
    """Whether a cell of summary.csv is that value, as it is written there: to six decimals."""
    if value is None or isinstance(value, str):
        return text == (value or "")
    try:
        return math.isclose(float(text), value, rel_tol=1e-9, abs_tol=6e-7)
    except (TypeError, ValueError):
        return False


def check_summary(run, cells, report):
    where, rows = run / "summary.csv", {}
    try:
        with where.open(newline="") as file:
            for row in csv.DictReader(file):
                rows[(row["policy"], row["elasticity"], int(row["trial"]))] = row
    except (OSError, csv.Error, KeyError, TypeError, ValueError) as error:
        report.expect(False, where, f"can't be read: {error!r}")
        return
    report.expect(set(rows) == {cell.key for cell in cells}, where, "its rows are not the cells of the run")
    for cell in cells:
        for name, value in expected_summary(cell).items() if cell.key in rows else ():
            text = rows[cell.key].get(name)
            expected = "empty" if value in (None, "") else value if isinstance(value, str) else f"{value:.6g}"
            report.expect(says(text, value), where, f"{'/'.join(map(str, cell.key))}: {name} should be {expected}")

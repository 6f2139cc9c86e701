"""The part of check_results.py that is about summary.csv of a run: it follows from the rows of the cells."""
import csv
import math


def mean(values):
    return sum(values) / len(values) if values else 0.0


def loads(cell):
    """The integrals of C and of max(0, R - C), of the machine (None) and of each tenant, by job; samples hold until the
    job's next one or its end."""
    ends = {job["job_id"]: job["finish_time"] for job in cell.jobs}
    changes = [(row["time"], row["job_id"], row["granted_cores"], row["runnable_threads"])
               for row in cell.samples if row["time"] <= ends.get(row["job_id"], -1)]
    changes += [(end, job, set(), 0) for job, end in ends.items()]
    changes.sort(key=lambda change: change[0])
    now, held, integrals = 0.0, {}, {None: [0.0, 0.0]}
    for time, job, cores, threads in changes:
        all_cores = set().union(*(load[0] for load in held.values()))
        now_loads = [(None, len(all_cores), sum(load[1] for load in held.values()))]
        now_loads += [(tenant, len(load[0]), load[1]) for tenant, load in held.items()]
        for tenant, count, runnable in now_loads:
            integral = integrals.setdefault(tenant, [0.0, 0.0])
            integral[0] += (time - now) * count
            integral[1] += (time - now) * max(0, runnable - count)
        held[job] = (cores, threads)
        now = time
    return integrals


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
    finished = [job for job in ended if job["job_id"] not in cell.services]  # Services last as long as the trace.
    makespan = 0.0
    if cell.jobs:
        makespan = max(job["finish_time"] for job in cell.jobs) - min(job["submission_time"] for job in cell.jobs)
    best, progress = {}, []
    for job in finished:
        step = job["execution_time"] / max(1, job["steps"])
        best[job["workload"]] = min(step, best.get(job["workload"], step))
    for job in finished:
        if job["turnaround_time"] > 0:
            progress.append(max(1, job["steps"]) * best[job["workload"]] / job["turnaround_time"])
    squares = sum(value * value for value in progress)
    known = {
        "makespan_s": makespan,
        "throughput_jobs_per_hour": len(finished) * 3600 / makespan if makespan > 0 else 0.0,
        "mean_wait_s": mean([job["waiting_time"] for job in finished]),
        "mean_execution_s": mean([job["execution_time"] for job in finished]),
        "mean_turnaround_s": mean([job["turnaround_time"] for job in finished]),
        "mean_stretch": mean([job["stretch"] or 0.0 for job in finished]),
        "jain_index": sum(progress) ** 2 / (len(progress) * squares) if squares else 1.0,
        "jobs": len(cell.jobs),
        "finished": len(ended),
        "failed": sum(job["state"] == "failed" for job in cell.jobs),
        "resizes": sum(job["resizes"] for job in cell.jobs),
    }
    return known | (sampled_summary(cell, makespan) if cell.has["samples"] else dict.fromkeys(SAMPLED))


# What only samples tell; empty cells of summary.csv without them.
SAMPLED = ("core_utilization", "oversubscription", "worst_tenant_oversubscription", "runqueue_wait_s_per_core_s",
           "involuntary_switches_per_core_s", "migrations_per_core_s", "throttled_s_per_core_s", "pressure_s_per_core_s",
           "images_per_s")


def sampled_summary(cell, makespan):
    integrals = loads(cell)
    shares = {tenant: excess / cores if cores else 0.0 for tenant, (cores, excess) in integrals.items()}
    core_seconds = integrals[None][0]

    def per_core_second(column, scale=1.0):
        known = total(cell, column)
        if core_seconds <= 0:
            return None if column.endswith("_us") else 0.0
        return None if known is None and column.endswith("_us") else (known or 0) * scale / core_seconds

    return {
        "oversubscription": shares[None],
        "worst_tenant_oversubscription": max(shares[tenant] for tenant in shares if tenant is not None or len(shares) == 1),
        "runqueue_wait_s_per_core_s": per_core_second("run_queue_wait_s"),
        "involuntary_switches_per_core_s": per_core_second("involuntary_switches"),
        "migrations_per_core_s": per_core_second("migrations"),
        "throttled_s_per_core_s": per_core_second("throttled_us", 1e-6),
        "pressure_s_per_core_s": per_core_second("pressure_us", 1e-6),
        "images_per_s": sum(job["images"] for job in cell.jobs) / makespan if makespan > 0 else 0.0,
    }


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
            try:
                text = rows[cell.key][name]
                holds = text == "" if value is None else math.isclose(float(text), value, rel_tol=1e-3, abs_tol=5e-6)
            except (KeyError, TypeError, ValueError):
                holds = False
            expected = "empty" if value is None else f"{value:.6g}"
            report.expect(holds, where, f"{'/'.join(map(str, cell.key))}: {name} should be {expected}")

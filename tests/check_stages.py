"""The part of check_results.py that is about pipelines: stages.csv of a cell."""

TYPES = {"time": float, "job_id": int, "stage": str, "ready": int, "running": int, "parked": int, "items": int, "bytes": int,
         "calls": int, "taken": int, "busy_s": float, "lasted_s": float, "dropped": int, "open": int, "open_requests": int}
COUNTERS = ("time", "calls", "taken", "busy_s", "lasted_s", "dropped")
NOW = ("ready", "running", "parked", "items", "bytes", "open")
TOLERANCE_S = 1e-5


def check_stages(cell, pipelines, report):
    """pipelines: the workloads of that mode, by name."""
    where, last = cell.where("stages.csv"), {}
    for row in cell.stages:
        job = cell.job_of.get(row["job_id"], {})
        at = f"job {row['job_id']}, stage {row['stage']} at {row['time']}"
        workload = pipelines.get(job.get("workload"))
        report.expect(workload is not None, where, f"{at}: it is no pipeline")
        if workload is None:
            continue
        report.expect(row["busy_s"] <= row["lasted_s"] + TOLERANCE_S, where, f"{at}: busy for longer than its calls lasted")
        report.expect(1 <= row["open_requests"] <= workload["open_max"], where, f"{at}: open requests are not 1 to open_max")
        key = row["job_id"], row["stage"]
        for name in COUNTERS:
            report.expect(row[name] >= last.get(key, row)[name], where, f"{at}: {name} goes back")
        for name in NOW:
            report.expect(row[name] >= 0, where, f"{at}: {name} is less than nothing")
        last[key] = row
    for (job, stage), row in last.items():
        if cell.job_of.get(job, {}).get("state") != "finished":
            continue
        left = [name for name in NOW if row[name] != 0]
        report.expect(not left, where, f"job {job}, stage {stage}: it ended with something inside: {', '.join(left)}")

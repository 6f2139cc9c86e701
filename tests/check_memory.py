"""The part of check_results.py that is about NUMA nodes: memory.csv of a cell."""
from check_jobs import TOLERANCE_S


def check_memory(cell, report):
    """Moves to other NUMA nodes: told only where there are several, and as [machine] memory wants."""
    where = cell.where("memory.csv")
    for row in cell.memory_moves:
        job, at = cell.job_of.get(row["job_id"]), f"job {row['job_id']} at {row['time']}"
        if job is None or job["starting_time"] is None:
            report.expect(False, where, f"{at}: of a job that never started")
            continue
        report.expect(job["starting_time"] <= row["time"] <= job["finish_time"] + TOLERANCE_S, where,
                      f"{at}: not between start and finish of its job")
        report.expect(row["from"] and row["to"] and not row["from"] & row["to"], where, f"{at}: from nodes to the same nodes")
        outcomes = ("stayed",) if cell.memory == "stay" else ("moved", "refused")
        report.expect(cell.memory is not None and row["outcome"] in outcomes, where,
                      f"{at}: memory {row['outcome']}, though it is to {cell.memory}")
        report.expect(min(row["bytes"], row["left_bytes"], row["taken_us"]) >= 0, where, f"{at}: a negative number")
        report.expect(row["outcome"] != "stayed" or row["bytes"] == 0, where, f"{at}: stayed, but some was moved")

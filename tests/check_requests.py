"""The part of check_results.py that is about services: requests.csv of a cell and services.csv of a run. Every request of the
trace is there once, answered or dropped; its times are in order and within its service's life; services.csv follows from
the rows."""
import csv
import math
from collections import Counter

TYPES = {"request_id": int, "job_id": int, "service": str, "scheduled": float, "sent": float, "dispatched": float,
         "received": float,
         "started": float, "finished": float, "work": float, "batch": int, "slo_ms": float, "state": str, "device": str}
HOLD_TYPES = {"device": str, "slot": int, "service": str, "batch": int, "begin": float, "end": float, "planned_end": float}
ANSWER = ("received", "started", "finished", "batch")


def us(seconds):
    """Times are written to the microsecond, so that these are exact."""
    return round(seconds * 1e6)


def check_request(row, cell, where, report):
    at = f"request {row['request_id']}"
    job = cell.job_of.get(row["job_id"])
    report.expect((row["job_id"] is None) == bool(row["device"]), where, f"{at}: has not just one server")
    report.expect(row["device"] or (job is not None and job["workload"] == row["service"]), where,
                  f"{at}: its job is not its service")
    report.expect(row["sent"] >= row["scheduled"], where, f"{at}: was sent before it was due")
    report.expect(row["work"] >= 0, where, f"{at}: has less than no work")
    known = [row[name] is not None for name in ANSWER]
    report.expect(row["state"] in ("served", "dropped", "failed") and all(known) == any(known) == (row["state"] == "served"), where,
                  f"{at}: is {row['state']}, but has {sum(known)} of {len(ANSWER)} facts of an answer")
    if not all(known):
        return
    report.expect(row["dispatched"] is not None, where, f"{at}: was answered, but never dispatched")
    if row["dispatched"] is None:
        return
    report.expect(row["sent"] <= row["dispatched"] <= row["received"] <= row["started"] <= row["finished"], where,
                  f"{at}: its times are not in order")
    if job is None:
        return
    report.expect(job["starting_time"] is not None and
                  us(job["starting_time"]) <= us(row["started"]) and us(row["finished"]) <= us(job["finish_time"]) + 1,
                  where, f"{at}: was answered before its service started or after it ended")


def check_requests(cell, trace, asked, report):
    """trace: the manifest's of this trial; None where it has none. asked: how many requests clients of closed loops have."""
    where, rows = cell.where("requests.csv"), cell.requests
    ids = Counter(row["request_id"] for row in rows)
    for request, count in ids.items():
        report.expect(count == 1, where, f"request {request} is there {count} times")
    report.expect(cell.sent_requests == len(rows), where,
                  f"{cell.sent_requests} requests were sent, {len(rows)} answered or dropped")
    if trace is not None and cell.status == "done":
        count = asked + (trace["arrivals"] if isinstance(trace, dict) else len(trace))
        report.expect(set(ids) == set(range(count)), where,
                      f"{count} requests in the trace, but {len(ids)} here, or others")
    for row in rows:
        check_request(row, cell, where, report)
    # What a device answers together need not be through at one time.
    batches = Counter((row["job_id"], row["started"], row["finished"], row["batch"]) for row in rows
                      if row["state"] == "served" and not row["device"])
    for (job, started, _, size), count in batches.items():
        report.expect(size >= 1 and count % size == 0, where,
                      f"job {job} began {count} requests at {started} in batches of {size}")


def check_holds(cell, devices, report):
    """devices: the manifest's. A slot holds one batch at a time, no shorter than its profile says, and all that devices
    answered was held for."""
    where, slots, room = cell.where("devices.csv"), {one["name"]: one.get("slots", 1) for one in devices}, {}
    for row in cell.holds:
        at = f"{row['device']} slot {row['slot']} at {row['begin']}"
        report.expect(0 <= row["slot"] < slots.get(row["device"], 0), where, f"{at}: there is no such slot")
        report.expect(us(row["begin"]) <= us(row["planned_end"]) <= us(row["end"]), where,
                      f"{at}: was let go before its time")
        room.setdefault((row["device"], row["slot"]), []).append((us(row["begin"]), us(row["planned_end"])))
    for (device, slot), holds in room.items():
        holds.sort()
        for (_, end), (begin, _) in zip(holds, holds[1:]):
            report.expect(end <= begin, where, f"{device} slot {slot}: is held twice at {begin / 1e6}")
    answered = Counter((row["device"], row["service"]) for row in cell.requests if row["device"] and row["state"] == "served")
    held = Counter()
    for row in cell.holds:
        held[row["device"], row["service"]] += row["batch"]
    for key, count in answered.items():
        report.expect(count <= held[key], where, f"{key[0]} answered {count} requests of {key[1]}, held for {held[key]}")


def nearest_rank(ordered, percent):
    return ordered[-(-len(ordered) * percent // 100) - 1] / 1e3


def expected_windows(rows, objectives):
    """objectives: this service's rows of objectives.csv. By window: mean responses, and who waits at its end."""
    if not objectives:
        return dict.fromkeys(("windows", "violated", "windows_of_10", "violated_110", "worst_window_ms"))
    length = us(objectives[0]["window_s"])
    answered = {}
    for row in rows:
        if row["finished"] is not None:
            answered.setdefault(max(0, us(row["finished"]) - 1) // length, []).append(us(row["finished"]) - us(row["scheduled"]))
    first = min([us(row["scheduled"]) // length for row in rows] + list(answered))
    last = max([us(row["scheduled"]) // length for row in rows] + list(answered))
    means, violated, windows = [], 0, 0
    for number in range(first, last + 1):
        limit = [us(row["sla_ms"] / 1e3) for row in objectives if us(row["time"]) <= number * length]
        if not limit:
            continue
        responses = answered.get(number, [])
        waits = not responses and any(
            us(row["scheduled"]) // length <= number and
            (row["finished"] is None or max(0, us(row["finished"]) - 1) // length > number) for row in rows)
        windows += bool(responses) or waits
        mean = sum(responses) / len(responses) if responses else None
        violated += waits if mean is None else mean > limit[-1]
        means += [(mean, limit[-1])] if responses else []
    tens = [means[i:i + 10] for i in range(0, len(means) - 9, 10)]
    return {"windows": windows, "violated": violated, "windows_of_10": len(tens),
            "violated_110": sum(sum(mean for mean, _ in ten) / 10 > 1.1 * ten[0][1] for ten in tens),
            "worst_window_ms": max((mean for mean, _ in means), default=0) / 1e3}


def expected_service(rows, objectives):
    served = [row for row in rows if row["state"] == "served"]
    latencies = sorted(us(row["finished"]) - us(row["scheduled"]) for row in served)
    in_time = sum(us(row["finished"]) - us(row["scheduled"]) <= us(row["slo_ms"] / 1e3) for row in served
                  if row["slo_ms"] is not None)
    has_slo = all(row["slo_ms"] is not None for row in rows)
    first = min(us(row["scheduled"]) for row in rows)
    span = (max((us(row["finished"]) for row in served), default=first) - first) / 1e6
    return {
        "requests": len(rows), "served": len(served), "dropped": len(rows) - len(served),
        "mean_latency_ms": sum(latencies) / len(latencies) / 1e3 if latencies else None,
        "p50_latency_ms": nearest_rank(latencies, 50) if latencies else None,
        "p95_latency_ms": nearest_rank(latencies, 95) if latencies else None,
        "p99_latency_ms": nearest_rank(latencies, 99) if latencies else None,
        "max_latency_ms": latencies[-1] / 1e3 if latencies else None,
        "throughput_per_s": len(served) / span if span > 0 else 0.0,
        "slo_attainment": in_time / len(rows) if has_slo else None,
        "goodput_per_s": (in_time / span if span > 0 else 0.0) if has_slo else None,
        "mean_batch": sum(row["batch"] for row in served) / len(served) if served else None,
        "worst_lag_ms": max(us(row["sent"]) - us(row["scheduled"]) for row in rows) / 1e3,
        "device_share": sum(bool(row["device"]) for row in served) / len(served) if served else None,
    } | expected_windows(rows, objectives)


def check_services(run, cells, report):
    where, expected, rows = run / "services.csv", {}, {}
    for cell in cells:
        for service in {row["service"] for row in cell.requests}:
            of_service = [[row for row in table if row["service"] == service] for table in (cell.requests, cell.objectives)]
            expected[(*map(str, cell.key), service)] = expected_service(*of_service)
    if not expected:
        return
    try:
        with where.open(newline="") as file:
            for row in csv.DictReader(file):
                rows[tuple(row[name] for name in ("policy", "elasticity", "trial", "service"))] = row
    except (OSError, csv.Error, KeyError) as error:
        report.expect(False, where, f"can't be read: {error!r}")
        return
    report.expect(set(rows) == set(expected), where, "its rows are not the services of the run's cells")
    for key in set(rows) & set(expected):
        for name, value in expected[key].items():
            text = rows[key].get(name)
            try:
                holds = text == "" if value is None else math.isclose(float(text), value, rel_tol=1e-6, abs_tol=2e-6)
            except (TypeError, ValueError):
                holds = False
            report.expect(holds, where, f"{'/'.join(key)}: {name} should be {value}")

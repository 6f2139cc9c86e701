#!/usr/bin/env python3
"""An example of a policy that is a program and decides of pipelines, too: who came first starts first, with the cores it asks for.
A pipeline in front of which requests wait has one more of them open as long as its stages have fewer batches ready than it has cores,
and one fewer when they have more than `crowded` times as many, which only wait for each other.

cosched run EXPERIMENT.toml --policy-exec "python3 enough_open.py"; what it reads and writes: policies/external/policy_protocol.h.
"""
from newest_first import count, serve


def describe(_request):
    return {"protocol": 1, "name": "enough-open", "summary": "opens requests of pipelines until their stages have enough to do",
            "parameters": [{"name": "crowded", "default": "4", "help": "batches a core that are too many to be ready"}]}


def start(request):
    global crowded
    crowded = float(request["parameters"]["crowded"])
    return {} if crowded >= 1 else {"error": f"crowded is {crowded}, and must be 1 or more"}


def starts(view):
    machine, free = count(view["cores"]), count(view["free"])
    jobs = {}
    for job in view["jobs"]:
        cores = max(job["min"], min(job["preferred"], machine))
        if job["state"] == "waiting" and cores <= free:
            jobs[job["id"]] = cores
            free -= cores
    return jobs


def opens(view):
    jobs = {job["id"]: job for job in view["jobs"]}
    for service in view["services"]:
        for server in service["servers"]:
            job = jobs.get(server.get("job"))
            if job is None or job["state"] != "running" or "stages" not in server:
                continue
            ready = sum(stage["ready"] for stage in server["stages"])
            cores, open_requests = count(job["cores"]), job["open_requests"]
            if ready < cores and server["in_flight"] > server["open"] and open_requests < job["most_open_requests"]:
                yield job, open_requests + 1
            elif ready > crowded * cores and open_requests > 1:
                yield job, open_requests - 1


def decide(request):
    view = request["view"]
    if request["event"]["kind"] != "window-over":
        return {"jobs": starts(view)}
    return {"jobs": {job["id"]: {"cores": job["cores"], "open_requests": open_requests} for job, open_requests in opens(view)}}


if __name__ == "__main__":
    serve(describe, start, decide)

#!/usr/bin/env python3
"""An example of a policy that is a program: the job that came last starts first, with all the cores it asks for.

cosched run EXPERIMENT.toml --policy-exec "python3 newest_first.py"; what it reads and writes: policies/external/policy_protocol.h.
"""
import json
import sys


def describe(_request):
    return {"protocol": 1, "name": "newest-first", "summary": "starts the job that came last first",
            "parameters": [{"name": "most", "default": "4096", "help": "cores that a job gets at most"}]}


def start(request):
    global most
    most = int(request["parameters"]["most"])
    return {} if most >= 1 else {"error": f"most is {most}, and must be 1 or more"}


def count(cores):
    """How many cores "0-2,5" are."""
    ends = [part.split("-") for part in cores.split(",") if part]
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)


def decide(request):
    view = request["view"]
    machine, free = count(view["cores"]), count(view["free"])
    jobs = {}
    for job in reversed(view["jobs"]):
        cores = max(job["min"], min(job["preferred"], machine, most))
        if job["state"] == "waiting" and cores <= free:
            jobs[job["id"]] = cores
            free -= cores
    return {"jobs": jobs}


def serve(*functions):
    """Answers each request with the function that is called as its kind."""
    answers = {function.__name__: function for function in functions}
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(answers[request["kind"]](request)), flush=True)


if __name__ == "__main__":
    serve(describe, start, decide)

#!/usr/bin/env python3
"""What a loop, a resize (two: to one thread and back) or eight nodes of a graph cost a thread of a pool in locks and system calls,
counted by bench_pool_counts, does not grow with the threads, let alone with the tasks. On few cores most helpers sleep, so what
those cost that only look for work can't be seen. Argument: the program."""
import json
import subprocess
import sys

THREADS = [8, 32, 64]
MOST_A_THREAD = {"locks": 3, "wakes": 1.5, "waits": 1.5}
MOST_LOCKS_OF_EIGHT_NODES = 18  # One to take a node, one to schedule a loop that looks for another.


def counts(program):
    names = "|".join(map(str, THREADS))
    said = subprocess.run([program, f"--benchmark_filter=/({names})/cosched", "--benchmark_format=json"], capture_output=True,
                          text=True, check=True).stdout
    return {tuple(one["name"].split("/")[:2]): one for one in json.loads(said)["benchmarks"]}


def main():
    measured = counts(sys.argv[1])
    wrong = []
    for what in ("awake", "asleep", "resize", "nodes"):
        for threads in THREADS:
            one = measured[what, str(threads)]
            bounds = MOST_A_THREAD | ({"locks": MOST_LOCKS_OF_EIGHT_NODES} if what == "nodes" else {})
            for count, a_thread in bounds.items():
                most = threads * a_thread
                if one[count] > most:
                    wrong.append(f"{what}, {threads} threads: {one[count]:.1f} {count}, at most {most:.0f} were expected")
    print("\n".join(wrong) or f"all counts of {len(measured)} cases are within their bounds")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

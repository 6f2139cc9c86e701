#!/usr/bin/env python3
"""What a loop or a resize of a pool costs a thread, counted by bench_pool_counts, grows at most as the logarithm of the threads: no
lock that all helpers take in turn, no thread that wakes all others. Argument: the program."""
import json
import math
import subprocess
import sys

THREADS = [8, 32, 64]


def counts(program):
    names = "|".join(map(str, THREADS))
    said = subprocess.run([program, f"--benchmark_filter=/({names})/cosched", "--benchmark_format=json"], capture_output=True,
                          text=True, check=True).stdout
    return {tuple(one["name"].split("/")[:2]): one for one in json.loads(said)["benchmarks"]}


def main():
    measured = counts(sys.argv[1])
    wrong = []
    for what in ("awake", "asleep", "resize"):
        for threads in THREADS:
            one = measured[what, str(threads)]
            for count in ("locks", "wakes", "waits"):
                most = threads * math.log2(threads)
                if one[count] > most:
                    wrong.append(f"{what}, {threads} threads: {one[count]:.1f} {count}, at most {most:.0f} were expected")
    print("\n".join(wrong) or f"all counts of {len(measured)} cases are within their bounds")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

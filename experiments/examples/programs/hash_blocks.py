#!/usr/bin/python3
"""Checksums of random blocks by a pool of threads, with as many as cosched says: an example of a program whose threads follow its
grant by three lines (connect, poll, step). hashlib computes without the interpreter's lock, so threads gain. Needs Python alone."""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client"))
import cosched  # noqa: E402

BLOCKS = 24  # Of a step; divisible among 1 to 4 threads, 6, 8, 12 and 24.


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--megabytes", type=float, default=1, help="of a block")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    client = cosched.connect()
    threads = os.cpu_count()  # By hand; cosched's first poll says another number.
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    block = random.Random(arguments.seed).randbytes(int(arguments.megabytes * 1e6))
    for step in range(arguments.steps):
        if told := client.poll():
            pool.shutdown()
            pool = concurrent.futures.ThreadPoolExecutor(told)
        hashes = [pool.submit(hashlib.sha256, block) for _ in range(BLOCKS)]
        concurrent.futures.wait(hashes)  # This thread sleeps until all are done: it wants no core beside them.
        client.step(BLOCKS)
    print(f"{arguments.steps} steps of {BLOCKS} blocks, the last one {hashes[-1].result().hexdigest()[:16]}")


main()

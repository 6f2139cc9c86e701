#!/usr/bin/env python3
"""Tells which processes of a build folder's programs are still there and began after process SINCE, which is that of the test run: no
test may leave one. Exit code 1 if there is one.

  left_behind.py BUILD_FOLDER SINCE
"""
import sys
import time
from pathlib import Path

GRACE_S = 5  # Who was killed last may still be at its end.


def began(process):
    """In clock ticks since the machine's start; the command's name, in brackets, may have spaces."""
    return int((process / "stat").read_text().rsplit(")", 1)[1].split()[19])


def left(folder, since):
    """{pid: command line}"""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "exe").resolve(strict=True).is_relative_to(folder) and began(process) > since:
                found[process.name] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue  # It has ended, or it is another user's.
    return found


def main():
    folder, since = Path(sys.argv[1]).resolve(), began(Path("/proc") / sys.argv[2])
    until = time.monotonic() + GRACE_S
    while left(folder, since) and time.monotonic() < until:
        time.sleep(0.2)
    still_there = left(folder, since)
    for pid, command in still_there.items():
        print(f"left behind: process {pid}: {command}")
    return 1 if still_there else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Does every include go where tests/layers.txt lets it, and does experiments/README.md show that table? layers_test.py, in the
source tree; layers_test.py --draw prints what it is to show."""
import re
import sys
from pathlib import Path

TABLE = Path("tests/layers.txt")
README = Path("experiments/README.md")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
APART = {"experiments", "experiments/examples/policy_library", "experiments/examples/programs"}  # main.cc, and what users copy.
MOST = 0.2  # Of the lines of experiments/, in one room.


def read_table():
    """{folder: folders that it may include}, in the table's order."""
    table = {}
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        folder, *allowed = words
        for other in allowed:
            if other not in table:
                sys.exit(f"{TABLE}:{number}: {other} does not stand above {folder}: a circle, or no such folder")
        table[folder] = set(allowed)
    return table


def floors(table):
    """[[folders that include none but those of the floors before]]"""
    floor = {}
    for folder, allowed in table.items():
        floor[folder] = max((floor[other] + 1 for other in allowed), default=0)
    return [[folder for folder in table if floor[folder] == at] for at in range(max(floor.values()) + 1)]


def drawn(table):
    """The house: a line a floor, the upper ones first; files include only what is on floors below theirs."""
    return "\n".join("   ".join(folders) for folders in reversed(floors(table)))


def sources(folder):
    return [path for path in sorted(Path(folder).glob("*")) if path.suffix in (".h", ".cc")]


def problems(table):
    tops = sorted({folder.split("/")[0] for folder in table})
    lines = {}
    for top in tops:
        for folder in sorted({str(path.parent) for suffix in ("h", "cc") for path in Path(top).rglob(f"*.{suffix}")} - APART):
            if folder not in table:
                yield f"{folder}: not in {TABLE}"
                continue
            used = set()
            for path in sources(folder):
                text = path.read_text()
                lines[folder] = lines.get(folder, 0) + text.count("\n")
                for included in INCLUDE.findall(text):
                    other = str(Path(included).parent)
                    used.add(other)
                    if other != folder and other not in table[folder]:
                        yield f"{path}: includes {included}: {folder} may not include {other} ({TABLE})"
            for other in sorted(table[folder] - used):
                yield f"{TABLE}: {folder} includes nothing of {other} any more"
    for folder in table:
        if not sources(folder):
            yield f"{TABLE}: {folder} has no sources"
    rooms = {folder: count for folder, count in lines.items() if folder.startswith("experiments/")}
    for folder, count in rooms.items():
        if count > MOST * sum(rooms.values()):
            yield f"{folder}: {count} of the {sum(rooms.values())} lines of experiments/: more than {MOST:.0%}"
    if drawn(table) not in README.read_text():
        yield f"{README} does not show the floors of {TABLE}: tests/layers_test.py --draw"


def main():
    table = read_table()
    if "--draw" in sys.argv[1:]:
        print(drawn(table))
        return
    found = list(problems(table))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

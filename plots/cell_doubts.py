"""What forbids to take the cells behind a figure's claims like any others: their marks; what failed or lost jobs, which is in no claim."""
import re
import textwrap

WIDTH = 118
MOST_NAMED = 6
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def found(sweep):
    """Of what figures.main() has loaded."""
    marks = sweep.marks()
    return {"all": len(marks), "marked": sum(map(bool, marks)), "marks": counted(marks), "failed": sweep.failed(), "lost": list(sweep.lost)}


def counted(marks):
    """{"mark", "cells"} of each, the most frequent first. Those that differ by numbers alone are one: each cell is late by its own time."""
    kinds = {}
    for cell, texts in enumerate(marks):
        for text in texts:
            said, cells = kinds.setdefault(NUMBER.sub("", text), (set(), set()))
            said.add(text)
            cells.add(cell)
    rows = [{"mark": together(sorted(said)), "cells": len(cells)} for said, cells in kinds.values()]
    return sorted(rows, key=lambda row: -row["cells"])


def together(texts):
    """Texts that differ by their numbers alone, as one, with the range of each number."""
    ranges = (sorted(set(numbers), key=float) for numbers in zip(*map(NUMBER.findall, texts), strict=True))
    return NUMBER.sub(lambda _: " to ".join(dict.fromkeys((numbers := next(ranges))[:1] + numbers[-1:])), texts[0])


def named(texts):
    return "; ".join(texts[:MOST_NAMED]) + (f"; and {len(texts) - MOST_NAMED} more" if len(texts) > MOST_NAMED else "")


def lines(cells):
    """Of found(), for the terminal: none where there is nothing to say."""
    are = "is" if cells["marked"] == 1 else "are"
    said = [("  * ", f"{cells['marked']} of {cells['all']} cells {are} marked:")] * (cells["marked"] > 0)
    said += [("    - ", f"{row['cells']}: {row['mark']}") for row in cells["marks"]]
    said += [("  * ", f"{word}: {named(texts)}") for word, texts in (("FAILED", cells["failed"]), ("LEFT OUT", cells["lost"])) if texts]
    return [line for first, text in said for line in textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))]

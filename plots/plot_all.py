#!/usr/bin/env python3
"""Draws every plot of a run into RUN/plots/ as PNG, PDF and CSV, unless that is there already, and prints their paths; exit 1 if one
could not be drawn."""
import argparse
import contextlib
import importlib
import io
import multiprocessing
import os
import pathlib
import re
import sys
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor

import drawn
import style
from load import LoadError, Run

FIRST = ("policy_comparison", "gantt")  # That a reader looks at first. They take least, so their processes start last.


def plots():
    """The plots of a run: the scripts beside this one that say by READS which records they need."""
    folder = pathlib.Path(__file__).resolve().parent
    names = [script.stem for script in folder.glob("*.py") if re.search("^READS = ", script.read_text(), re.MULTILINE)]
    return {name: importlib.import_module(name) for name in [*FIRST, *sorted(set(names) - set(FIRST))]}


PLOTS = plots()


def draw(path, name):
    """(what it prints, why it could not be drawn, or "") of one plot."""
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told):
            style.save(PLOTS[name].draw(Run(path)), path / "plots" / name)
    except Exception as error:  # One broken plot must not cost the reader the others.
        return told.getvalue(), f"plots/{name}.py: {type(error).__name__}: {error}"
    return told.getvalue(), ""


def draw_all(run):
    """Exits where one can't be drawn."""
    left_out = {name: run.lacks(*script.READS) for name, script in PLOTS.items()}
    wanted = sorted((name for name in PLOTS if not left_out[name]), key=lambda name: name in FIRST)
    failed = []
    # Processes that have the libraries already: to load these takes as long as a small plot.
    with ProcessPoolExecutor(min(len(wanted), len(os.sched_getaffinity(0))), multiprocessing.get_context("fork")) as processes:
        results = {name: processes.submit(draw, run.path, name) for name in wanted}
        for name in PLOTS:
            if left_out[name]:
                print(f"{name}: not drawn, the experiment records no {' and no '.join(left_out[name])}")
                continue
            try:
                told, problem = results[name].result()
            except BrokenExecutor as error:  # Its process was killed.
                told, problem = "", f"plots/{name}.py: {error}"
            print(told, end="")
            if problem:
                print(problem, file=sys.stderr)
                failed.append(name)
    if failed:
        sys.exit(f"plot_all.py: not drawn: {', '.join(failed)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", metavar="RUN", help="results/<experiment>/<run>")
    try:
        run = Run(parser.parse_args().run)
    except LoadError as error:
        sys.exit(f"plot_all.py: {error}")
    drawn.once(run.path, run.path / "plots" / "plot_all", lambda: draw_all(run))


if __name__ == "__main__":
    main()

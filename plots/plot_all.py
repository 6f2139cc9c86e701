#!/usr/bin/env python3
"""Draws every plot of a run into RUN/plots/ as PNG and PDF and prints their paths; exit 1 if one could not be drawn."""
import argparse
import sys

import cores_over_time
import gantt
import policy_comparison
import step_time
import style
from load import LoadError, Run

PLOTS = {"policy_comparison": policy_comparison, "gantt": gantt, "cores_over_time": cores_over_time, "step_time": step_time}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", metavar="RUN", help="results/<experiment>/<run>")
    try:
        run = Run(parser.parse_args().run)
    except LoadError as error:
        sys.exit(f"plot_all.py: {error}")
    failed = []
    for name, script in PLOTS.items():
        left_out = run.lacks(*script.READS)
        if left_out:
            print(f"{name}: not drawn, the experiment records no {' and no '.join(left_out)}")
            continue
        try:
            style.save(script.draw(run), run.path / "plots" / name)
        except Exception as error:  # One broken plot must not cost the reader the others.
            print(f"plots/{name}.py: {type(error).__name__}: {error}", file=sys.stderr)
            failed.append(name)
    if failed:
        sys.exit(f"plot_all.py: not drawn: {', '.join(failed)}")


if __name__ == "__main__":
    main()

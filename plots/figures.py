"""What the scripts of published figures share: their command line, expected values, and where plot and verdicts go."""
import argparse
import json
import sys
from pathlib import Path

import cell_doubts
import claims
import drawn
import style
from load import LoadError, Sweep

EXPECTED = Path(__file__).resolve().parent / "expected"


def expected_of(name):
    return json.loads((EXPECTED / f"{name}.json").read_text())


def main(name, draw, measure, description, notes=None, load=Sweep):
    """RUN [--out BASE]: BASE.png, .pdf, .csv and .claims.json, whose paths are printed, then the table of claims.

    load(RUN): what the functions below get as their sweep; it has cores_here, and what cell_doubts.found() asks for.

    draw(sweep, expected) gives a figure; measure(sweep) a function for each claim's name that gives a claims.Estimate or
    raises claims.NotHere; notes(sweep, expected) lines to be told below the table.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("run", metavar="RUN", help=f"results/{name}/<run>")
    parser.add_argument("--out", metavar="F", help=f"F.png, F.pdf, F.csv and F.claims.json; default RUN/plots/{name}")
    arguments = parser.parse_args()
    out = Path(arguments.out) if arguments.out else Path(arguments.run) / "plots" / name

    def told(sweep, expected):
        try:
            return notes(sweep, expected) if notes else []
        except claims.NotHere as reason:  # The claims are none the worse for it.
            return [f"no more is told: {reason}"]

    def judge():
        sweep, expected = load(arguments.run), expected_of(name)
        measures = measure(sweep)
        rows = [claims.evaluate(claim, measures, sweep.cores_here) for claim in expected["claims"]]
        verdicts = out.with_name(out.name + ".claims.json")
        verdicts.parent.mkdir(parents=True, exist_ok=True)
        cells, said = cell_doubts.found(sweep), told(sweep, expected)
        claims.write(verdicts, name, rows, cells=cells, notes=said)
        style.save(draw(sweep, expected), out)
        print("\n".join([f"{verdicts}\n", claims.table(expected["title"], rows), *cell_doubts.lines(cells), *([""] * bool(said)), *said]))

    try:
        drawn.once(arguments.run, out, judge)
    except claims.NotHere as reason:  # The claims say so, too: they are written.
        sys.exit(f"{name}.py: no plot: {reason}")
    except (LoadError, OSError) as error:
        sys.exit(f"{name}.py: {error}")

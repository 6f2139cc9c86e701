#!/usr/bin/env python3
"""Keeps how long figures took, for machines on which they have not run: keep_times.py RESULTS/reproduce.json writes times.json beside
this script, which `cosched reproduce` tells before it starts. What is there of other figures stays if it is of the same machine."""
import json
import sys
from pathlib import Path

TIMES = Path(__file__).resolve().parent / "times.json"


def main(path):
    found = json.loads(Path(path).read_text())
    machine = f"{found['machine']['cpu']}, {found['machine']['cores']} cores"
    kept = json.loads(TIMES.read_text()) if TIMES.exists() else {"machine": machine, "figures": []}
    figures = {(f["name"], f["quick"]): f for f in kept["figures"]} if kept["machine"] == machine else {}
    for figure in found["figures"]:
        if figure["status"] == "whole" and figure["took"]["cpu"] == found["machine"]["cpu"]:
            figures[figure["name"], figure["quick"]] = {
                "name": figure["name"], "quick": figure["quick"], "hash": figure["hash"], "seconds": round(figure["took"]["seconds"], 1),
                "bytes": round(figure["took"]["bytes"]), "commit": figure["took"]["commit"]}
    rows = ",\n".join("  " + json.dumps(figure) for _, figure in sorted(figures.items()))
    TIMES.write_text(f'{{"machine": {json.dumps(machine)},\n "figures": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main(sys.argv[1])

"""Reads the records of one run (results/<experiment>/<run>) for the plot scripts. Knows the folder's layout; draws nothing."""
import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

ELASTICITIES = ["rigid", "moldable", "malleable"]


class LoadError(Exception):
    """The folder holds no records to draw; the message names the file."""


class Cell(NamedTuple):
    policy: str
    elasticity: str
    trial: int
    folder: Path

    def table(self, name):
        return read_table(self.folder / f"{name}.csv")

    @property
    def machine_cores(self):
        return parse_cpus(json.loads((self.folder / "cell.json").read_text())["machine_cores"])


class Run:
    """The whole cells of a run that are "done", with policies and elasticities in the order of the experiment."""

    def __init__(self, path):
        self.path = Path(path)
        try:
            self.manifest = json.loads((self.path / "manifest.json").read_text())
            folders = [file.parent for file in self.path.glob("*/*/*/cell.json") if is_done(file)]
        except (OSError, ValueError) as error:
            raise LoadError(f"{self.path}: not a run: {error}") from error
        self.cells = [Cell(f.parent.parent.name, f.parent.name, int(f.name), f) for f in folders if f.name.isdigit()]
        if not self.cells:
            raise LoadError(f"{self.path}: no cell of this run is done")
        self.cells.sort(key=lambda cell: cell.trial)
        named = [policy["name"] for policy in self.manifest.get("policies", [])]
        present = {cell.policy for cell in self.cells}
        self.policies = [name for name in named if name in present] + sorted(present - set(named))
        self.elasticities = [e for e in ELASTICITIES if any(cell.elasticity == e for cell in self.cells)]

    @property
    def name(self):
        return self.manifest.get("experiment", {}).get("name", self.path.name)

    def oversubscribes(self, policy):
        return any(p["name"] == policy and p["oversubscribes"] for p in self.manifest.get("policies", []))

    def first_cell(self, policy, elasticity):
        """The earliest trial; None if there is no such cell."""
        return next((c for c in self.cells if (c.policy, c.elasticity) == (policy, elasticity)), None)

    def summary(self):
        table = read_table(self.path / "summary.csv")
        return table[table["status"] == "done"]


def is_done(cell_json):
    return json.loads(cell_json.read_text()).get("status") == "done"


# Interval sets are text, and an empty one is no missing number.
TEXT = {name: str for name in ("cores", "owned", "granted_cores", "allocated_resources", "reason", "allocation")}


@lru_cache(maxsize=64)
def read_table(path):
    try:
        table = pd.read_csv(path, dtype={**TEXT, "starting_time": float})
    except (OSError, ValueError) as error:
        raise LoadError(f"{path}: {error}") from error
    for name in TEXT.keys() & set(table.columns):
        table[name] = table[name].fillna("")
    return table


def parse_cpus(text):
    cpus = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.extend(range(int(first), int(last or first) + 1))
    return cpus

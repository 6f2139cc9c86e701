"""Reads the records of a run or a sweep (results/<experiment>/<run>) for the plot scripts. Knows the layout; draws nothing."""
import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

ELASTICITIES = ["rigid", "moldable", "malleable"]
MOST_JOBS = 300  # A row or a colour a job tells nothing beyond, and costs minutes.


class LoadError(Exception):
    """The folder holds no records to draw; the message names the file."""


class Cell(NamedTuple):
    policy: str
    elasticity: str
    trial: int
    folder: Path

    def table(self, name, columns=None):
        """columns: only these; steps and samples have millions of rows, and reading is most of what a plot of them costs."""
        return read_table(self.folder / f"{name}.csv", columns)

    @property
    def info(self):
        return json.loads((self.folder / "cell.json").read_text())

    @property
    def machine_cores(self):
        return parse_cpus(self.info["machine_cores"])

    @property
    def marks(self):
        return self.info.get("marks", [])

    def lost(self):
        """The rows of the jobs that did not finish: failed, rejected or cancelled; devices answer for one that was declined."""
        jobs = self.table("jobs")
        return jobs[~jobs["state"].isin(["finished", "declined"])]

    def doubts(self):
        """For titles of plots of one cell: what forbids to take it like any other; "" if nothing does."""
        lost = len(self.lost())
        doubts = [f"lost {lost} of {len(self.table('jobs'))} jobs"] * (lost > 0) + ["marked"] * bool(self.marks)
        return ": " * bool(doubts) + ", ".join(doubts)

    def opening(self):
        """The jobs that plots by job show, and the time up to which they do: all; or the first MOST_JOBS, until the next arrives."""
        jobs = self.table("jobs").sort_values(["submission_time", "job_id"])
        if len(jobs) <= MOST_JOBS:
            return set(jobs["job_id"]), float("inf")
        return set(jobs["job_id"].iloc[:MOST_JOBS]), float(jobs["submission_time"].iloc[MOST_JOBS])

    def steady_steps(self, job=None):
        """The steps but the first of each job, which also makes the kernels."""
        steps = self.table("steps")
        if job is not None:
            steps = steps[steps["job_id"] == job]
        return steps[steps["step"] > 0]


class Run:
    """The whole cells of a run that are "done", with policies and elasticities in the order of the experiment."""

    def __init__(self, path):
        self.path = Path(path)
        self.without_losses = False
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

    @property
    def title(self):
        """The name, which world it was, and whether part of it was modelled."""
        experiment = self.manifest.get("experiment", {})
        simulated = ", simulated" * (experiment.get("backend") == "simulated")
        return self.name + simulated + ", with a modelled device" * bool(experiment.get("device_profiles"))

    def oversubscribes(self, policy):
        return any(p["name"] == policy and p["oversubscribes"] for p in self.manifest.get("policies", []))

    def lacks(self, *records):
        """Those of these records that the experiment left out ([records] steps = false)."""
        kept = self.manifest.get("experiment", {}).get("records", {})
        return [name for name in records if not kept.get(name, True)]

    def shown_jobs(self):
        """For titles of plots by job: "" if they show all."""
        most = max(len(cell.table("jobs")) for cell in self.cells)
        return f", the first {MOST_JOBS} of {most:,} jobs" if most > MOST_JOBS else ""

    def first_cell(self, policy, elasticity):
        """The earliest trial; None if there is no such cell."""
        return next((c for c in self.cells if (c.policy, c.elasticity) == (policy, elasticity)), None)

    def summary(self):
        path = self.path / "summary.csv"
        table = read_table(path)
        lacking = {"rejected", "cancelled", "lost", "marked"} - set(table.columns)
        if lacking:
            raise LoadError(f"{path}: has no column {', '.join(sorted(lacking))}: an older cosched wrote it")
        done = table["status"] == "done"
        return table[done & (table["lost"] == 0)] if self.without_losses else table[done]

    def services(self):
        """services.csv, a row a service and cell; None where the run has no services, or does not record requests."""
        path = self.path / "services.csv"
        return read_table(path) if path.exists() else None

    def leave_out_losses(self):
        """From now on without the cells that lost jobs: nothing of theirs compares with cells that did all the work. Names them."""
        table = self.summary()
        rows = table[table["lost"] > 0]
        lossy = set(zip(rows["policy"], rows["elasticity"], rows["trial"]))
        self.cells = [cell for cell in self.cells if (cell.policy, cell.elasticity, cell.trial) not in lossy]
        self.without_losses = True
        return [f"{row.policy}/{row.elasticity}/{row.trial} lost {row.lost} of {row.jobs} jobs" for row in rows.itertuples()]


class Point(NamedTuple):
    values: dict  # Dotted key of the experiment file -> number or text.
    run: Run


class Sweep:
    """The points of a sweep that have done cells in which no job was lost; a run without a sweep is one point without values."""

    def __init__(self, path):
        self.path = Path(path)
        try:
            self.manifest = json.loads((self.path / "manifest.json").read_text())
        except (OSError, ValueError) as error:
            raise LoadError(f"{self.path}: not a run: {error}") from error
        listed = self.manifest.get("points", [{"name": "", "values": {}}])
        self.points, self.lost = [], []
        for point in listed:
            if any(map(is_done, (self.path / point["name"]).glob("*/*/*/cell.json"))):
                values = {key: number_or_text(value) for key, value in point["values"].items()}
                run = Run(self.path / point["name"])
                self.lost += ["/".join(filter(None, [point["name"], text])) for text in run.leave_out_losses()]
                if run.cells:
                    self.points.append(Point(values, run))
        if not self.points:
            raise LoadError(f"{self.path}: no cell of this run is done{' without losing jobs' if self.lost else ''}")

    @property
    def cores_here(self):
        return len(parse_cpus(self.manifest["host"]["cpus"]))

    def values(self, key):
        """All values of a swept key, in order."""
        return sorted({point.values[key] for point in self.points if key in point.values})

    def cells(self, elasticity=None, **wanted):
        """The cells of all points with these values, by trial. Keys are given by their last word (threads=2)."""
        found = []
        for point in self.points:
            short = {key.split(".")[-1]: value for key, value in point.values.items()}
            if all(short.get(key) == value for key, value in wanted.items()):
                found += [cell for cell in point.run.cells if elasticity in (None, cell.elasticity)]
        return sorted(found, key=lambda cell: cell.trial)

    def why_left_out(self, word):
        """Why points with this word in their name could not run here; "" if none was left out."""
        return next((text.split(": ", 1)[1] for text in self.manifest.get("left_out", []) if word in text.split(": ", 1)[0]), "")

    def marks(self):
        """Those of each cell: none of one that is like any other."""
        return [cell.marks for point in self.points for cell in point.run.cells]

    def failed(self):
        names = [point["name"] for point in self.manifest.get("points", [{"name": ""}])]
        return ["/".join(filter(None, [name, text])) for name in names for text in failed_in(self.path / name)]


def failed_in(run):
    """The cells of a run, or of a sweep's point, that are whole and not "done", each with why."""
    files = [file for file in sorted(run.glob("*/*/*/cell.json")) if file.parent.name.isdigit()]
    cells = [(file.parent.relative_to(run), json.loads(file.read_text())) for file in files]
    return [f"{name}: {info['reason']}" for name, info in cells if info["status"] != "done"]


def number_or_text(text):
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def is_done(cell_json):
    return json.loads(cell_json.read_text()).get("status") == "done"


# Interval sets are text, and an empty one is no missing number.
TEXT = {name: str for name in ("cores", "owned", "granted_cores", "allocated_resources", "from", "to", "reason", "allocation")}


@lru_cache(maxsize=64)
def read_table(path, columns=None):
    """A file of records, plain or compressed; columns: a tuple of those wanted, in the file's order, or all."""
    packed = path.with_name(path.name + ".gz")
    try:
        table = pd.read_csv(packed if packed.exists() else path, dtype={**TEXT, "starting_time": float}, usecols=columns)
    except (OSError, EOFError, ValueError) as error:
        raise LoadError(f"{path}: {error}") from error
    for name in TEXT.keys() & set(table.columns):
        table[name] = table[name].fillna("")
    return table


@lru_cache(maxsize=4096)
def parse_cpus(text):
    cpus = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.extend(range(int(first), int(last or first) + 1))
    return tuple(cpus)

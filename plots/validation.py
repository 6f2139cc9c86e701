"""Measured runs and sweeps that `cosched validate` has held against their simulation, for figures about that."""
import json

import claims
from load import LoadError, Run, Sweep, failed_in, number_or_text, parse_cpus


def read_validation(path):
    try:
        return json.loads((path / "validation.json").read_text())
    except (OSError, ValueError) as error:
        raise LoadError(f"{path}: no validation: {error}") from error


def simulated_marks(found):
    """Of the simulation of each cell: the claims are of both worlds."""
    return {(row["run"], row["policy"], row["elasticity"], row["trial"]): [f"simulated: {mark}" for mark in row["simulated_marks"]]
            for row in found["cells"]}


def marks_of(run, index, simulated):
    return [cell.marks + simulated.get((index, cell.policy, cell.elasticity, cell.trial), []) for cell in run.cells]


class SweptValidation(Sweep):
    """The measured sweep, whose folder holds validation.json."""

    def __init__(self, path):
        super().__init__(path)
        self.found = read_validation(self.path)
        self.lost = []  # `cosched validate` has left them out.

    def marks(self):
        simulated, names = simulated_marks(self.found), [point["name"] for point in self.manifest["points"]]
        of_points = [(point.run, names.index(str(point.run.path.relative_to(self.path)))) for point in self.points]
        return [marks for run, index in of_points for marks in marks_of(run, index, simulated)]

    def services(self):
        """(values of the point, row) of every service in every cell of which both worlds answered requests."""
        points = [{key: number_or_text(value) for key, value in point["values"].items()} for point in self.manifest["points"]]
        return [(points[row["run"]], row) for row in (self.found["services"] or {"services": []})["services"]]


class Validation:
    """The measured run, whose folder holds validation.json."""

    def __init__(self, path):
        self.run = Run(path)
        self.found = read_validation(self.run.path)
        self.lost = []  # `cosched validate` has left them out.
        self.cores_here = len(parse_cpus(self.run.manifest["host"]["cpus"]))

    def marks(self):
        return marks_of(self.run, 0, simulated_marks(self.found))

    def failed(self):
        return failed_in(self.run.path)


def estimate(found, factor=1.0):
    level, trials = found["level"], found["trials"]
    return claims.Estimate(found["value"], found["low"], found["high"], level, trials, level < claims.DECIDES).scaled(lambda value: factor * value)


def tau_of(ranking):
    """The rank agreement of the policies in one trace; the hardware's own ranking may agree no better with itself."""
    tau, itself = estimate(ranking["tau"]), ranking["measured_tau"]
    if itself is None:
        return tau
    return tau._replace(reach=claims.Reach(itself, "the hardware's own tau, of half of the traces against the others,"))


def few(tau):
    return f": {tau['trials']} traces, {claims.FEWEST} are needed" if tau["trials"] < claims.FEWEST else ""


def alike(found):
    """Share in % of the pairs of policies that the hardware tells apart whom the simulator orders alike."""
    if found is None or found["told_apart"] == 0:
        raise claims.NotHere("the hardware tells no two policies apart" + ("" if found is None else few(found["tau"])))
    share = 100 * found["ordered_alike"] / found["told_apart"]
    by_chance = found["pairs"] * (1 - found["tau"]["level"])  # Each pair is judged at the level of so many traces.
    note = (f"{found['ordered_alike']} of {found['told_apart']} pairs that it tells apart, of {found['pairs']}; "
            f"of equal policies {by_chance:.1f} would be by chance")
    return claims.Estimate(share, share, share, 1.0, found["tau"]["trials"], note=note)

"""A measured run that `cosched validate` has held against its simulation, for figures about that."""
import json

import claims
from load import LoadError, Run, parse_cpus


class Validation:
    """The measured run, whose folder holds validation.json."""

    def __init__(self, path):
        self.run = Run(path)
        try:
            self.found = json.loads((self.run.path / "validation.json").read_text())
        except (OSError, ValueError) as error:
            raise LoadError(f"{path}: no validation: {error}") from error
        self.lost = []  # `cosched validate` has left them out.
        self.cores_here = len(parse_cpus(self.run.manifest["host"]["cpus"]))

    def marked(self):
        return sum(bool(cell.marks) for cell in self.run.cells), len(self.run.cells)


def estimate(found, factor=1.0):
    level, trials = found["level"], found["trials"]
    return claims.Estimate(found["value"], found["low"], found["high"], level, trials, level < claims.DECIDES).scaled(lambda value: factor * value)


def few(tau):
    return f": {tau['trials']} traces, {claims.FEWEST} are needed" if tau["trials"] < claims.FEWEST else ""


def alike(found):
    """Share in % of the pairs of policies that the hardware tells apart whom the simulator orders alike."""
    if found is None or found["told_apart"] == 0:
        raise claims.NotHere("the hardware tells no two policies apart" + ("" if found is None else few(found["tau"])))
    share = 100 * found["ordered_alike"] / found["told_apart"]
    return claims.Estimate(share, share, share, 1.0, found["tau"]["trials"])

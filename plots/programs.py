"""What the figures of programs of others share: whose cells a point holds, and how fast its steps were."""
import numpy as np

import claims

WARM_UP = 0.1  # Of the steps of a cell: caches fill, kernels are made.


def program_of(point):
    """The workload that the point draws its jobs of: the one with a weight."""
    return next(key.split(".")[1] for key, value in point.values.items() if key.endswith(".weight") and value)


def shown(sweep, names):
    """Those of the names that the sweep has points of, in their order."""
    return [name for name in names if any(program_of(point) == name for point in sweep.points)]


def steps_of(cell):
    """Milliseconds of the steps of a cell that is never resized."""
    durations = cell.table("steps")["duration_ms"].to_numpy()
    return durations[int(np.ceil(WARM_UP * len(durations))):]


def mean_step(cell):
    return float(np.mean(steps_of(cell)))


def paired(left, right, combine=lambda a, b: a / b):
    """left, right: numbers by trial, which were interleaved."""
    return claims.median(combine(left[trial], right[trial]) for trial in left.keys() & right.keys())

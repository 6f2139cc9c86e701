"""Reads what Google Benchmark wrote for a figure that is measured with a benchmark (benchmark.json of its run); draws nothing."""
import json
from pathlib import Path

import claims
from load import LoadError

NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def seconds_of(row):
    return row["real_time"] * NANOSECONDS[row["time_unit"]] * 1e-9


class Benchmarks:
    """For each benchmark its repetitions."""

    def __init__(self, path):
        self.path = Path(path)
        try:
            found = json.loads((self.path / "benchmark.json").read_text())
        except (OSError, ValueError) as error:
            raise LoadError(f"{path}: not a run of benchmarks: {error}") from error
        self.cores_here = found["context"]["num_cpus"]
        failed = [row for row in found["benchmarks"] if row.get("error_occurred")]
        self.lost = [f"{row['run_name']}: {row['error_message']}" for row in failed]
        self.rows = {}
        for row in found["benchmarks"]:
            if row["run_type"] == "iteration" and not row.get("error_occurred"):
                self.rows.setdefault(tuple(row["run_name"].split("/")), []).append(row)
        if not self.rows:
            raise LoadError(f"{path}: benchmark.json holds no benchmark that ended well")

    def marks(self):
        return [[] for _ in self.rows]

    def failed(self):
        return []  # What failed is in no row, and `lost` names it.

    def series(self, *name, value=seconds_of):
        """{argument: one value a repetition}; name: the parts of the benchmark's name before its argument; value: of a repetition."""
        found = {}
        for parts, rows in self.rows.items():
            if parts[:len(name)] == name and len(parts) > len(name) and parts[len(name)].isdigit():
                found[int(parts[len(name)])] = [value(row) for row in rows]
        return dict(sorted(found.items()))

    def rates(self, *name):
        """The same of items a second."""
        return self.series(*name, value=lambda row: row["items_per_second"])

    def counter(self, *name, counter):
        """The same of one of its counters, without those that do not have it: a peer that is not installed has none."""
        found = self.series(*name, value=lambda row: row.get(counter))
        return {argument: values for argument, values in found.items() if None not in values}

    def second_parts(self, name):
        """What comes second in names that begin so, in order."""
        return list(dict.fromkeys(parts[1] for parts in self.rows if parts[0] == name))


def chosen(values, key, what):
    if not values.get(key):
        raise claims.NotHere(f"{what} was not measured")
    return values[key]

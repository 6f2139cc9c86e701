"""The command in a folder of its own, with a small simulated experiment x.toml: for tests of what it prints and reports."""
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def experiment(name="x", trials=8, lines="", tables=""):
    """An experiment file; lines stand above its tables, tables behind them."""
    return f"""name = "{name}"
backend = "simulated"
trials = {trials}
policies = ["strict", "equal-share"]
elasticity = ["rigid", "malleable"]
{lines}
[machine]
topology = "core:4 pu:1"
profile = "{ROOT}/experiments/profiles/example.json"
[simulation]
noise = 0.05
[trace]
jobs = 12
gap = {{ distribution = "normal", mean_s = 0.3, sd_s = 0.05 }}
[[workload]]
model = "resnet20"
batch = 32
steps = 20
cores = {{ min = 1, preferred = 2, max = 4 }}
{tables}
"""


class Cosched:
    """The command, as a user calls it in `folder`; its runs lock nobody else's."""

    def __init__(self, binary, folder, **of_experiment):
        self.binary, self.folder = binary, Path(folder)
        (self.folder / "x.toml").write_text(experiment(**of_experiment))

    def __call__(self, *arguments, code=0):
        """What it did; AssertionError if it ended otherwise than with `code`."""
        result = self.try_(*arguments)
        assert result.returncode == code, f"{arguments}: exit code {result.returncode}\n{result.stdout}{result.stderr}"
        return result

    def try_(self, *arguments):
        return subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True, check=False, env=self.environment(), cwd=self.folder)

    def environment(self):
        return {**os.environ, "COSCHED_LOCKS": str(self.folder)}

    def run(self, file="x.toml", *more):
        """Runs an experiment to its end; its run's folder."""
        said = self("run", file, "--no-plots", *more).stdout
        return self.folder / said.rstrip().rsplit("results: ", 1)[1].splitlines()[0]

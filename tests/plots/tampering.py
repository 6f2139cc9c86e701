"""What the tests of tests/check_results.py have in common: a copy of a run, something changed in it, and what the checker says."""
import csv
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import forked

ROOT = Path(__file__).resolve().parent.parent.parent
CHECKER = ROOT / "tests" / "check_results.py"


def check(path):
    result = forked.run(CHECKER, path)
    return result.returncode, result.stdout + result.stderr


class TamperTest(unittest.TestCase):
    """Every test gets its own copy of `original`, a run, as self.run."""
    original = None

    @classmethod
    def run_file(cls, cosched, path, *options):
        """Makes `original` by running that experiment; what was printed."""
        results = tempfile.TemporaryDirectory()
        cls.addClassCleanup(results.cleanup)
        command = [cosched, "run", path, "--no-plots", "--out", results.name, *options]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        cls.original = next(Path(results.name).glob(f"{path.stem}/*"))
        return result.stdout

    @classmethod
    def run_example(cls, cosched, example, *options):
        """The same of a file of experiments/examples."""
        return cls.run_file(cosched, ROOT / "experiments" / "examples" / f"{example}.toml", *options)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.run = Path(self.folder.name) / "run"
        shutil.copytree(self.original, self.run)

    def restore(self):
        """Within a test: as nothing was changed."""
        shutil.rmtree(self.run)
        shutil.copytree(self.original, self.run)

    def edit(self, name, change):
        """change(rows) edits the rows (dicts of text) of one of the run's files in place."""
        path = self.run / name
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), reader.fieldnames
        change(rows)
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    def expect_broken(self, *reasons):
        code, output = check(self.run)
        self.assertEqual(code, 1, output)
        self.assertIn("BROKEN", output)
        for reason in reasons:
            self.assertIn(reason, output)

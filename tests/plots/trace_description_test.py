#!/usr/bin/env python3
"""Does `cosched trace describe --plot` draw traces of all kinds? trace_description_test.py COSCHED [unittest args]"""
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COSCHED = None  # Given on the command line.
SMALLEST_PLOT = 10_000  # Bytes; an empty page is smaller.


def poisson(count, rate):
    generator = random.Random(1)
    time = 0.0
    for _ in range(count):
        time += generator.expovariate(rate)
        yield time


class TraceDescriptionTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.trace = Path(self.folder.name) / "some.trace.csv"

    def describe(self, times, *arguments):
        rows = "".join(f"{time:.9f},a\n" for time in times)
        self.trace.write_text("arrival_s,workload\n" + rows)
        environment = {**os.environ, "COSCHED_PYTHON": sys.executable, "MPLBACKEND": "Agg"}
        return subprocess.run([COSCHED, "trace", "describe", self.trace, *arguments], capture_output=True, text=True,
                              check=False, env=environment, cwd=self.folder.name)

    def expect_plot(self, times):
        out = Path(self.folder.name) / "plots" / "mine.png"
        result = self.describe(times, "--plot", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        for file in (out, out.with_suffix(".pdf")):
            self.assertIn(str(file), result.stdout.split())
            self.assertGreater(file.stat().st_size, SMALLEST_PLOT, file)

    def test_poisson(self):
        self.expect_plot(poisson(5000, 3))

    def test_years(self):
        self.expect_plot(time * 86400 * 30 for time in poisson(100, 1))

    def test_microseconds(self):
        self.expect_plot(poisson(500, 1e6))

    def test_equal_gaps(self):
        self.expect_plot(range(100))

    def test_ties(self):
        self.expect_plot([0] * 50 + [7] * 50)

    def test_two_arrivals(self):
        self.expect_plot([1, 2])

    def test_default_name(self):
        result = self.describe(poisson(100, 1), "--plot")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((Path(self.folder.name) / "some.trace.png").exists())

    def test_without_extent_in_time_there_is_nothing_to_draw(self):
        result = self.describe([3, 3, 3], "--plot", "mine.png")
        self.assertEqual(result.returncode, 1)
        self.assertIn("nothing to draw", result.stderr)
        self.assertIn("arrivals        3 jobs", result.stdout)


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()

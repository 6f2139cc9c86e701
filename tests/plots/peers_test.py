#!/usr/bin/env python3
"""Are the tables of the comparison with ONNX Runtime and PyTorch right, is it drawn, do the measuring processes take turns?

peers_test.py COSCHED. With made-up measurements and made-up workers beside cosched's own: the peers are not needed.
"""
import csv
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "experiments" / "peers"))
import cells  # noqa: E402  (the path must be set first)
import parity  # noqa: E402
import workers  # noqa: E402

SCRIPT = ROOT / "plots" / "peers.py"
SMALLEST_PLOT = 10_000  # Bytes; an empty page is smaller.
WORKER = """
import json, sys, time
print(json.dumps({"ready": True, "seconds_per_run": 1}), flush=True)
for turn, line in enumerate(sys.stdin):
    if line == "run 7.0\\n":
        sys.exit(1)
    print(json.dumps({"images": 10 * (turn + 1), "seconds": float(line.split()[1]), "cpu_seconds": 1}), flush=True)
"""


def row(mode, model, threads, system, repetition, speed, peak=100, runtime=0):
    return {"mode": mode, "model": model, "batch": 8, "threads": threads, "system": system, "variant": "",
            "repetition": repetition, "images_per_s": speed, "images_per_cpu_s": 2 * speed, "peak_mib": peak,
            "runtime_mib": runtime}


class PeersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run = Path(folder.name)

    def measured(self, rows):
        with open(self.run / "peers.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, cells.FIELDS)
            writer.writeheader()
            writer.writerows(rows)
        return cells.read(self.run / "peers.csv")

    def both_modes(self):
        """Inference: 2 times and half of ONNX Runtime's speed; training: 1.05 of PyTorch's, below the target of 1.1."""
        rows = []
        for model, speeds in (("lenet5", (180, 200, 300)), ("vgg16", (45, 50, 51))):
            rows += [row("inference", model, 1, "cosched", i, speed, peak=80) for i, speed in enumerate(speeds)]
            rows += [row("inference", model, 1, "onnxruntime", i, speed, peak=100, runtime=50)
                     for i, speed in enumerate((90, 100, 120))]
        rows += [row("training", "resnet50", 2, "cosched", i, 10.5) for i in range(3)]
        rows += [row("training", "resnet50", 2, "pytorch", i, 10) for i in range(3)]
        return self.measured(rows)

    def test_ratios_are_those_of_the_medians(self):
        measured = self.both_modes()
        ratios = [cells.ratio(systems, cell.mode) for cell, systems in measured.items()]
        self.assertEqual(ratios, [2, 0.5, 1.05])
        lenet = next(iter(measured.values()))
        self.assertEqual(cells.ratio_range(lenet, "inference"), (2, 2.5))
        self.assertAlmostEqual(lenet["cosched"].spread, 0.3)
        self.assertTrue(math.isclose(cells.geometric_mean([2, 0.5, 8]), 2))

    def test_another_build_has_a_table_of_its_own(self):
        rows = [row("inference", "lenet5", 1, "cosched", i, speed) for i, speed in enumerate((99, 110, 120))]
        rows += [row("inference", "lenet5", 1, cells.BEFORE, i, 100) for i in range(3)]
        rows += [row("training", "vgg16", 2, "cosched", i, speed) for i, speed in enumerate((45, 50, 55))]
        rows += [row("training", "vgg16", 2, cells.BEFORE, i, 100) for i in range(3)]
        rows += [row("inference", "lenet5", 1, "onnxruntime", i, 100) for i in range(3)]
        report = cells.report(self.measured(rows))
        self.assertIn("| inference | lenet5 | 8 | 1 | 110 ±10% | 100 ±0% | 1.100 | 0.99 to 1.20 |", report)
        self.assertIn("Geometric mean 0.742; lowest 0.500 (training vgg16 batch 8 threads 2)", report)
        self.assertIn("Slower in every round: training vgg16 batch 8 threads 2.", report)
        self.assertNotIn("another build", cells.report(self.both_modes()))
        subprocess.run([sys.executable, SCRIPT, self.run], check=True)

    def test_many_turns_are_told_as_a_distribution(self):
        speeds = [50, 79] + 9 * [100] + 9 * [110]
        rows = [row("inference", "lenet5", 2, "cosched", i, speed) for i, speed in enumerate(speeds)]
        rows += [row("inference", "lenet5", 2, "onnxruntime", i, 100) for i in range(20)]
        report = cells.report(self.measured(rows))
        self.assertIn("| lenet5 | 8 | 2 | 20 | 0.50 | 0.50 | 10.0 % | 1.00 | 1.00 | 0.0 % |", report)
        self.assertNotIn("Turns as shares", cells.report(self.both_modes()))

    def test_the_report_names_wins_and_losses(self):
        report = cells.report(self.both_modes())
        rows = [line for line in report.splitlines() if line.startswith("| lenet5") or line.startswith("| vgg16")]
        self.assertIn("| 2.00 |", rows[0])
        self.assertIn("| 0.50 below |", rows[1])
        self.assertIn("| 80 | 100 (50) |", rows[0])
        self.assertIn("1 of 2 cells at 1.00 or more; geometric mean 1.000; lowest 0.500 (inference vgg16", report)
        self.assertIn("at most ONNX Runtime's: 2 of 2 cells; at most what it needed beyond node's own: 0 of 2", report)
        self.assertIn("0 of 1 cells at 1.10 or more", report)

    def test_a_missing_peer_leaves_its_column_empty(self):
        report = cells.report(self.measured([row("inference", "lenet5", 1, "cosched", i, 100) for i in range(3)]))
        self.assertIn("| lenet5 | 8 | 1 | 100 ±0% | - | - | - | - | - | 100 | - |", report)
        self.assertIn("No ratio: cosched or onnxruntime was not measured.", report)

    def test_the_plan_is_the_issues_table_and_can_be_narrowed(self):
        self.assertEqual(len(cells.plan("inference", None, None, [1, 2])), 8 * 3 * 2)
        self.assertEqual(len(cells.plan("training", None, None, [1, 2])), 5 * 2)
        self.assertEqual(cells.plan(None, ["resnet56"], None, [2]), [cells.Cell("training", "resnet56", 128, 2)])
        self.assertEqual(cells.plan(None, ["lenet5"], [8], [1]), [cells.Cell("inference", "lenet5", 8, 1)])

    def test_draws_both_modes(self):
        self.both_modes()
        result = subprocess.run([sys.executable, SCRIPT, self.run], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        plots = [Path(line) for line in result.stdout.split()]
        self.assertEqual([plot.name for plot in plots], ["peers.png", "peers.pdf", "peers.csv"])
        for plot in plots[:2]:
            self.assertGreater(plot.stat().st_size, SMALLEST_PLOT)
        self.assertGreater(len(plots[2].read_text().splitlines()), 2)

    def test_says_why_it_cannot_draw(self):
        self.measured([row("inference", "lenet5", 1, "cosched", 0, 100)])
        result = subprocess.run([sys.executable, SCRIPT, self.run], capture_output=True, text=True, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("no cell was measured with the peer", result.stderr)

    def test_outputs_agree_relative_to_their_size(self):
        reference = np.array([[3, -4]], np.float32)  # Root mean square: 3.54.
        self.assertEqual(parity.relative_error(reference, reference), 0)
        self.assertAlmostEqual(parity.relative_error(np.array([[3, -4.4]], np.float32), reference), 0.1, places=6)
        self.assertAlmostEqual(parity.relative_error(np.array([[3.5, -4]], np.float32), reference), 0.5 / 12.5**0.5, places=6)
        for bad in (np.array([[3, np.nan]]), np.array([3, -4])):
            self.assertEqual(parity.relative_error(bad, reference), float("inf"))
        rows = parity.table([("a", "f", "s", 1e-5), ("b", "f", "s", 2e-4), ("c", "f", "s", "no such op")]).splitlines()[-3:]
        self.assertEqual([line.split("|")[-2].strip() for line in rows], ["yes", "NO", "not run"])


class WorkersTest(unittest.TestCase):
    COMMAND = [sys.executable, "-c", WORKER]

    def test_all_take_turns_and_sleep_between(self):
        with workers.Worker("a", self.COMMAND) as first, workers.Worker("b", self.COMMAND) as second:
            results = workers.alternate([first, second], 3, 0.5)
            for worker in (first, second):
                status = Path(f"/proc/{worker.pid}/status").read_text(encoding="ascii")
                self.assertIn("State:\tT", status)
                self.assertGreater(worker.peak_kib(), 0)
        for system in ("a", "b"):
            self.assertEqual([result["images"] for result in results[system]], [10, 20, 30])
            self.assertEqual({result["seconds"] for result in results[system]}, {0.5})

    def test_one_that_ends_is_an_error_and_none_is_left_over(self):
        with workers.Worker("a", self.COMMAND) as worker:
            with self.assertRaisesRegex(workers.WorkerError, "a: ended"):
                worker.run(7.0)
        self.assertFalse(os.path.exists(f"/proc/{worker.pid}"))
        with self.assertRaisesRegex(workers.WorkerError, "b: ended"):
            workers.Worker("b", [sys.executable, "-c", ""])


class CoschedWorkerTest(unittest.TestCase):
    def command(self, *cell):
        return [COSCHED, "bench", "engine", "--interactive", "--threads", "1", *cell]

    def test_it_speaks_the_protocol(self):
        for mode in ("infer", "train"):
            with workers.Worker("cosched", self.command("--mode", mode, "--model", "lenet5", "--batch", "3")) as worker:
                self.assertGreater(worker.ready["seconds_per_run"], 0)
                turns = [worker.run(0), worker.run(0.05)]
                self.assertGreater(1024 * 1024, worker.peak_kib())
            self.assertEqual(turns[0]["images"], 3)
            for turn in turns:
                self.assertEqual(turn["images"] % 3, 0)
                self.assertGreater(turn["cpu_seconds"], 0)
            self.assertGreaterEqual(turns[1]["seconds"], 0.05)

    def test_it_ends_with_its_input_and_refuses_other_lines(self):
        for given, code, message in (("run 0\n", 0, ""), ("run -1\n", 2, 'standard input: "run -1"; allowed: run SECONDS\n'),
                                     ("stop\n", 2, 'standard input: "stop"; allowed: run SECONDS\n')):
            done = subprocess.run(self.command("--model", "lenet5"), input=given, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr.removeprefix("cosched: ")), (code, message))

    def test_a_cell_that_nobody_can_do_is_told_and_ends_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, ROOT / "experiments" / "peers" / "compare.py", "--cache", folder, "--out", folder,
                                   "--cosched", COSCHED, "--systems", "cosched", "--source", "builtin", "--only", "inference",
                                   "--models", "convnext_tiny", "lenet5", "--batches", "1", "--threads", "1", "--repetitions", "1",
                                   "--seconds", "0", "--kernel-rates", "fixed"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('unknown model "convnext_tiny"', done.stderr)
        self.assertIn("Failed: inference convnext_tiny batch 1 threads 1: cosched: ended", done.stdout)
        self.assertRegex(done.stdout, r"\| lenet5 \| 1 \| 1 \| [0-9]")

    def test_one_cell_only(self):
        done = subprocess.run(self.command("--model", "lenet5", "--batch", "1,2"), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("one --model, one --batch, one --threads and one --precision", done.stderr)


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()

#!/usr/bin/env python3
"""Measures cosched beside ONNX Runtime and PyTorch; compare.sh installs them, builds cosched and calls this.

Exit code 1 if outputs differ. The last line that is printed is the folder of the results.
"""
import argparse
import contextlib
import csv
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import cells
import parity
import workers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Its matrix products are those of whatever BLAS the system has: a reader must know if that is the slow one.
PYTORCH_VERSION = """
import torch
libraries = open("/proc/self/maps").read()
known = (("openblas", "OpenBLAS"), ("libmkl_", "MKL"))
blas = next((name for key, name in known if key in libraries), "the SLOW reference BLAS")
print(torch.__version__, "with", blas)
"""


def runs(command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Peers:
    """How each system is started; None: it is not there, and why."""

    def __init__(self, arguments):
        cache = arguments.cache
        self.models, self.cosched, self.before, self.source = cache / "models", arguments.cosched, arguments.before, arguments.source
        self.kernel_rates = arguments.kernel_rates
        self.missing = {}
        modules = cache / "node_modules"
        self.onnxruntime = ["node", HERE / "ort_worker.js", modules]
        self.torch = [sys.executable, HERE / "torch_worker.py"]
        if not runs([sys.executable, "-c", "import torch, torchvision, onnx"]):
            self.torch = None
            self.missing["pytorch"] = "python3 can't import torch, torchvision and onnx"
        binding = modules / "onnxruntime-node" / "dist" / "binding.js"
        if not runs(["node", "-e", f"require({json.dumps(str(binding))})"]):
            self.onnxruntime = None
            self.missing["onnxruntime"] = f"node can't load {binding}"

    def export(self, models):
        if self.torch:
            subprocess.run([sys.executable, HERE / "export_models.py", self.models, *models], check=True, stdout=sys.stderr)

    def start(self, system, cell):
        """A worker, or None if the system has no part in this cell."""
        if system in ("cosched", cells.BEFORE):
            return workers.Worker(system, self._cosched_command(self.cosched if system == "cosched" else self.before, cell))
        if system == "onnxruntime" and self.onnxruntime and cell.mode == "inference":
            return workers.Worker(system, [*self.onnxruntime, self._file(cell), str(cell.batch), str(cell.threads)])
        if system == "pytorch" and self.torch:
            return workers.Worker(system, [*self.torch, cell.model, str(cell.batch), str(cell.threads), cell.mode])
        return None

    def _file(self, cell):
        return self.models / cell.model / "model.onnx"

    def _cosched_command(self, binary, cell):
        model = f"onnx:{self._file(cell)}" if self.source == "onnx" and cell.mode == "inference" else cell.model
        mode = "infer" if cell.mode == "inference" else "train"
        return [binary, "bench", "engine", "--interactive", "--mode", mode, "--model", model,
                "--batch", str(cell.batch), "--threads", str(cell.threads), "--kernel-rates", self.kernel_rates]


def measure(peers, cell, systems, repetitions, seconds):
    """(rows of the CSV, {system: why it failed})."""
    failures = {}
    with contextlib.ExitStack() as stack:
        started = []
        for system in systems:
            try:
                worker = peers.start(system, cell)
            except (workers.WorkerError, OSError) as error:
                failures[system] = str(error)
                continue
            if worker:
                started.append(stack.enter_context(worker))
        if not started:
            return [], failures or {"": "none of the systems has a part in it"}
        results = workers.alternate(started, repetitions, seconds)
        rows = [row for worker in started for row in cells.rows(cell, worker, results[worker.system])]
    return rows, failures


def measure_all(peers, planned, arguments, path):
    """Writes the CSV cell by cell, so that an interrupted run leaves what it has measured; returns what failed."""
    failed = []
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, cells.FIELDS)
        writer.writeheader()
        for done, cell in enumerate(planned):
            print(f"{done + 1}/{len(planned)} {cell}", file=sys.stderr, flush=True)
            rows, failures = measure(peers, cell, arguments.systems, arguments.repetitions, arguments.seconds)
            writer.writerows(rows)
            file.flush()
            failed += [f"{cell}: {why}" for why in failures.values()]
    return failed


def versions(peers):
    commands = {"cosched": [peers.cosched, "--version"]}
    if peers.before:
        commands["cosched before"] = [peers.before, "--version"]
    if peers.torch:
        commands["pytorch"] = [sys.executable, "-c", PYTORCH_VERSION]
    if peers.onnxruntime:
        package = Path(peers.onnxruntime[2]) / "onnxruntime-node" / "package.json"
        commands["onnxruntime-node"] = ["node", "-p", f"require({json.dumps(str(package))}).version"]
    told = {name: subprocess.run(command, capture_output=True, text=True, check=False).stdout
            for name, command in commands.items()}
    return {name: text.strip().removeprefix("cosched ").replace("\n", "; ") for name, text in told.items()}


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())


def describe(peers, arguments, load_before):
    return {"processor": processor(), "cores": os.cpu_count(), "versions": versions(peers), "missing": peers.missing,
            "repetitions": arguments.repetitions, "seconds": arguments.seconds, "cosched_models": peers.source,
            "instruction_limit": os.environ.get("ONEDNN_MAX_CPU_ISA"), "load_average_before": load_before, "load_average_after": os.getloadavg()}


def conditions(description, failed):
    """What a reader of the tables has to know."""
    settings = (f"Median of {description['repetitions']} turns of {description['seconds']:g} s (at least one run) each, all "
                "systems alternating; ±: half of the range. ONNX Runtime through its native binding in node: all graph "
                "optimisations, sequential, default arena; PyTorch: the fastest of its variants (CSV). In brackets: without "
                "what node itself needed. Per CPU second: the same ratio by CPU time, at 1 thread (for machines that others "
                "use too; a thread that waits awake counts).")
    machine = f"{description['processor']}, {description['cores']} cores"
    named = ", ".join(f"{name} {version}" for name, version in description["versions"].items())
    before, after = description["load_average_before"][0], description["load_average_after"][0]
    lines = [f"{machine}; {named}; load average before {before:.1f}, after {after:.1f}.", settings]
    if description["instruction_limit"]:
        lines.append(f"ONEDNN_MAX_CPU_ISA={description['instruction_limit']}: cosched's kernels use no more than that, nor does "
                     "PyTorch's oneDNN; ONNX Runtime knows no such limit and uses all that this processor has.")
    lines += [f"Not measured: {system}: {why}." for system, why in description["missing"].items()]
    return "\n\n".join(lines + [f"Failed: {why}" for why in failed]) + "\n"


def parse():
    parser = argparse.ArgumentParser(prog="compare.sh", description=__doc__.splitlines()[0])
    lists = {"nargs": "+", "metavar": "N", "type": int}
    known = sorted({*cells.INFERENCE_MODELS, *(model for model, _ in cells.TRAINING_CELLS)})
    parser.add_argument("--models", nargs="+", metavar="MODEL", choices=known, help=f"of {', '.join(known)}; default all")
    parser.add_argument("--batches", **lists, help="images a run; default 1 8 32, of training steps one each")
    parser.add_argument("--threads", **lists, default=[1, 2], help="default 1 2")
    parser.add_argument("--repetitions", type=int, default=5, help="turns of each system in each cell; default 5")
    parser.add_argument("--seconds", type=float, default=1, help="of each turn; default 1")
    parser.add_argument("--only", choices=["inference", "training", "parity"], help="a part; default all three")
    parser.add_argument("--systems", nargs="+", choices=cells.SYSTEMS, default=cells.SYSTEMS, help="default all")
    parser.add_argument("--before", type=Path, metavar="COSCHED",
                        help="another build of cosched, measured too and told in a table of its own")
    parser.add_argument("--kernel-rates", default="measured", metavar="RATES",
                        help="by which both builds of cosched choose kernels: measured (each by its own), fixed, or all values")
    parser.add_argument("--source", choices=["onnx", "builtin"], default="onnx",
                        help="what cosched infers with: the peers' ONNX file, or its own model of that name; default onnx")
    parser.add_argument("--out", type=Path, help="folder for results; default results/peers/<time>")
    parser.add_argument("--cosched", type=Path, default=ROOT / "build" / "cosched", help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse()
    started = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d-%H%M%S")
    out = arguments.out or ROOT / "results" / "peers" / started
    out.mkdir(parents=True, exist_ok=True)
    load_before = os.getloadavg()
    if arguments.before:
        arguments.systems = [*arguments.systems, cells.BEFORE]
    peers = Peers(arguments)
    models = [model for model in cells.INFERENCE_MODELS if not arguments.models or model in arguments.models]
    text, agree = [], True
    if arguments.only != "training":
        peers.export(models)
    if arguments.only in (None, "parity") and peers.torch:
        outputs = list(parity.check(peers, peers.models, models, arguments.systems))
        agree = all(parity.agrees(error) for *_, error in outputs)
        text.append(parity.table(outputs))
        print(text[-1], flush=True)
    if arguments.only != "parity":
        planned = cells.plan(arguments.only, arguments.models, arguments.batches, arguments.threads)
        failed = measure_all(peers, planned, arguments, out / "peers.csv")
        description = describe(peers, arguments, load_before)
        (out / "peers.json").write_text(json.dumps(description, indent=1))
        text += [cells.report(cells.read(out / "peers.csv")), conditions(description, failed)]
        print("\n".join(text[-2:]))
    (out / "peers.md").write_text("\n".join(text))
    print(out)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())

"""Do all systems compute the same? PyTorch's eager outputs, stored by export_models.py, are the reference."""
import subprocess
import tempfile
from pathlib import Path

import numpy as np

LIMIT = 1e-4
HOW = ("largest |output - reference| / max(|reference|, root mean square of the reference's elements), over all elements; "
       "reference: PyTorch, eager, 3 images")


def load(path):
    import onnx  # May be missing; the rest of this file does without it.
    from onnx import numpy_helper
    return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def relative_error(output, reference):
    if output.shape != reference.shape:
        return float("inf")
    scale = np.maximum(np.abs(reference), np.sqrt(np.mean(np.square(reference, dtype=np.float64))))
    error = np.abs(output.astype(np.float64) - reference) / scale
    return float(np.max(error)) if np.isfinite(error).all() else float("inf")


def run(command):
    """None, or why it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["failed"])[-1]


def onnxruntime_error(peers, folder, file):
    images, reference = load(folder / "input_0.pb"), load(folder / "output_0.pb")
    with tempfile.TemporaryDirectory() as scratch:
        given, got = Path(scratch) / "input", Path(scratch) / "output"
        images.tofile(given)
        failure = run([*peers.onnxruntime, folder / file, "infer", given, got, *map(str, images.shape)])
        return failure or relative_error(np.fromfile(got, np.float32).reshape(reference.shape), reference)


def cosched_error(peers, folder, file):
    with tempfile.TemporaryDirectory() as scratch:
        got = Path(scratch) / "output.npy"
        reference = load(folder / "output_0.pb")
        failure = run([peers.cosched, "model", "run", "--model", f"onnx:{folder / file}", "--batch", str(len(reference)),
                       "--input", folder / "input_0.pb", "--output", got])
        return failure or relative_error(np.load(got), reference)


def check(peers, folder, models, systems):
    """Rows (model, file, system, error or why there is none) of all that could be compared."""
    for model in models:
        for file in ("model.onnx", "default.onnx", "opset17.onnx"):
            if not (folder / model / file).exists():
                continue
            if peers.onnxruntime and "onnxruntime" in systems:
                yield model, file, "onnxruntime", onnxruntime_error(peers, folder / model, file)
            if "cosched" in systems:
                yield model, file, "cosched", cosched_error(peers, folder / model, file)


def agrees(error):
    return isinstance(error, float) and error <= LIMIT


def table(rows):
    lines = [f"## Do the outputs agree within {LIMIT:g}?", "", f"Relative error: {HOW}.", "",
             "| model | file | system | relative error | |", "|---|---|---|---|---|"]
    for model, file, system, error in rows:
        verdict = "yes" if agrees(error) else "NO" if isinstance(error, float) else "not run"
        told = f"{error:.1e}" if isinstance(error, float) else error
        lines.append(f"| {model} | {file} | {system} | {told} | {verdict} |")
    return "\n".join(lines) + "\n"

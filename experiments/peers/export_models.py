#!/usr/bin/env python3
"""export_models.py FOLDER MODEL…: FOLDER/MODEL/{model.onnx, …, input_0.pb, output_0.pb}, made once and kept.

All files have a dynamic batch. In model.onnx, of opset 13, the batch norms are kept, so that each system has to fold them
itself; default.onnx (where there are batch norms) is what torch.onnx.export writes unasked: folded; opset17.onnx (where there
are layer norms) has these as one op each, while opset 13 has none and they are written out. Input and PyTorch's
output for it (evaluation mode, eager) are TensorProtos in the layout of ONNX's own test data.
"""
import hashlib
import sys
import warnings
from pathlib import Path

import onnx
import torch
from onnx import numpy_helper

import peer_models

REFERENCE_BATCH = 3  # Neither 1 nor a batch that is measured: parity must hold at odd ones too.


def version():
    """A file is made anew when what made it has changed."""
    sources = [Path(__file__), Path(peer_models.__file__)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources) + torch.__version__.encode()).hexdigest()


def store(path, name, tensor):
    path.write_bytes(numpy_helper.from_array(tensor.numpy(), name).SerializeToString())


def export(folder, name):
    folder.mkdir(parents=True, exist_ok=True)
    model, images = peer_models.build(name), peer_models.images(name, REFERENCE_BATCH)
    with torch.no_grad():
        logits = model(images)
    files = {"model.onnx": (13, torch.onnx.TrainingMode.PRESERVE)}
    if peer_models.batch_norms(model):
        files["default.onnx"] = 13, torch.onnx.TrainingMode.EVAL
    if peer_models.layer_norms(model):
        files["opset17.onnx"] = 17, torch.onnx.TrainingMode.EVAL
    for file, (opset, mode) in files.items():
        torch.onnx.export(model, images, str(folder / file), opset_version=opset, input_names=["images"],
                          output_names=["logits"], dynamic_axes={"images": {0: "batch"}, "logits": {0: "batch"}},
                          training=mode)
        onnx.checker.check_model(str(folder / file))
    store(folder / "input_0.pb", "images", images)
    store(folder / "output_0.pb", "logits", logits)


def main(folder, names):
    warnings.filterwarnings("ignore", module="torch.onnx")  # Advice about exports that are trained on; these are not.
    for name in names:
        stamp = Path(folder) / name / "version"
        if stamp.exists() and stamp.read_text() == version():
            continue
        print(f"exporting {name}", file=sys.stderr, flush=True)
        export(stamp.parent, name)
        stamp.write_text(version())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

#!/usr/bin/python3
"""One whole training step of every model in cosched and in PyTorch: same weights, same images and labels, batch norm with
the statistics of the batch, no dropout. Compares the loss, the logits and the gradient of every variable.

The relative error of a tensor is |ours - theirs| / |theirs|, with the Euclidean norm over its elements; of the loss, of the
number. Some gradients are 0 but for rounding (an offset whose effect the next norm removes): a ten-thousandth of the norm of
all gradients is the least that is divided by. Weights are He's; biases and offsets keep activations away from the kinks of ReLUs, where rounding alone decides about
gradients (gradient_models.move_from_kinks). With --near-kinks they do not; --double then shows that PyTorch's own single
precision is as far from its double precision. Kinks that remain (two maxima of a pool that rounding makes change places) move
single gradients in single runs, an error in cosched all runs: so a tensor counts by the best of the seeds.

Needs Debian's python3-torch and python3-torchvision (compare.sh installs them) and a built cosched. Exit code 1 if an error
is above the limit.
"""
import argparse
import copy
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch

import gradient_models
import weights_file


RESULTS = ("loss", "logits")
LEAST_SHARE = 1e-4  # Of all gradients together.


def step(name, model, images, labels):
    """Loss, logits and gradients by cosched's names."""
    model.zero_grad()
    logits = model(images)
    loss = torch.nn.functional.cross_entropy(logits, labels)
    loss.backward()
    return {**gradient_models.tensors(name, model, True), "loss": numpy.float32(loss.item()),
            "logits": logits.detach().float().numpy()}


def relative_errors(ours, theirs):
    if ours.keys() != theirs.keys():
        raise ValueError(f"different variables: {sorted(ours.keys() ^ theirs.keys())}")
    norms = {name: numpy.linalg.norm(numpy.asarray(value, dtype=numpy.float64)) for name, value in theirs.items()}
    least = LEAST_SHARE * math.hypot(*(norm for name, norm in norms.items() if name not in RESULTS))
    return {name: numpy.linalg.norm(numpy.asarray(ours[name], dtype=numpy.float64) - expected)
            / max(norms[name], 0 if name in RESULTS else least) for name, expected in theirs.items()}


def cosched_step(arguments, name, model, images, labels):
    with tempfile.TemporaryDirectory() as folder:
        given, taken = pathlib.Path(folder, "given"), pathlib.Path(folder, "taken")
        weights_file.write(given, {**gradient_models.tensors(name, model, False),
                                   "images": images.permute(0, 2, 3, 1).contiguous().numpy(),
                                   "labels": labels.to(torch.int32).numpy()})
        subprocess.run([arguments.cosched, "gradients", "--model", name, "--tensors", given, "--out", taken,
                        "--threads", str(arguments.threads)], check=True)
        return weights_file.read(taken)


def errors_of_seed(arguments, name, seed):
    """Of cosched to PyTorch by tensor; with --double also of PyTorch and of cosched to PyTorch's double precision."""
    model = gradient_models.build(name, seed)
    channels, side = gradient_models.IMAGES.get(name, (3, 224))
    side = side if name in gradient_models.FLATTENED else arguments.size or side
    images = torch.randn(arguments.batch, channels, side, side)
    if not arguments.near_kinks:
        gradient_models.move_from_kinks(name, model, images)
    rows = arguments.batch * side * side if name == "segmenter" else arguments.batch
    labels = torch.randint(gradient_models.CLASSES.get(name, 1000), (rows,))
    ours = cosched_step(arguments, name, model, images, labels)
    exact = step(name, copy.deepcopy(model).double(), images.double(), labels) if arguments.double else None
    theirs = step(name, model, images, labels)
    return [relative_errors(ours, theirs)] + [relative_errors(result, exact) for result in (theirs, ours) if exact]


def compare(arguments, name):
    """Prints the model's row; returns the largest error of a tensor in that tensor's best seed."""
    seeds = [errors_of_seed(arguments, name, seed) for seed in range(1, arguments.seeds + 1)]
    best = {tensor: min(errors[0][tensor] for errors in seeds) for tensor in seeds[0][0]}
    variables = [tensor for tensor in best if tensor not in RESULTS]
    worst = max(variables, key=best.get)
    row = [name, len(variables), f"{best['loss']:.1e}", f"{best['logits']:.1e}",
           f"{numpy.median([best[variable] for variable in variables]):.1e}", f"{best[worst]:.1e}", worst]
    for kind in range(len(seeds[0])):
        row.append(f"{max(errors[kind][variable] for errors in seeds for variable in variables):.1e}")
    print("| " + " | ".join(map(str, row)) + " |", flush=True)
    return max(best.values())


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: all")
    parser.add_argument("--cosched", default=root / "build" / "cosched")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=2, help="a tensor counts by its best seed")
    parser.add_argument("--limit", type=float, default=1e-3)
    parser.add_argument("--near-kinks", action="store_true",
                        help="biases and offsets as of a new network: the kinks of ReLUs let rounding decide")
    parser.add_argument("--size", type=int, help="side of the images, but for models that flatten them; default: the model's")
    parser.add_argument("--double", action="store_true", help="compare both with PyTorch's double precision, too")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    unknown = set(arguments.models) - gradient_models.BUILDERS.keys()
    if unknown:
        parser.error(f"unknown models: {', '.join(sorted(unknown))}; allowed: {', '.join(gradient_models.BUILDERS)}")
    columns = ["model", "variables", "loss", "logits", "median gradient", "worst gradient", "which", "worst of any seed"]
    columns += ["PyTorch to double", "cosched to double"] if arguments.double else []
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    errors = {name: compare(arguments, name) for name in arguments.models or gradient_models.BUILDERS}
    failed = [name for name, error in errors.items() if not error <= arguments.limit]
    print(f"{len(errors) - len(failed)} of {len(errors)} models within {arguments.limit:g}"
          + (f"; above: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""One whole training step of every model in cosched and in PyTorch: same weights, same images and labels, batch norm
with the statistics of the batch, no dropout. Compares the outputs of layers, the logits, the loss and the gradient of
every variable; each of them counts, for every seed.

The relative error of a tensor is |ours - theirs| / |theirs|, with the Euclidean norm over its elements; of the loss, of
the number. Some gradients are 0 but for rounding (an offset whose effect the next norm removes), which a third run, of
PyTorch in double precision, tells: they are less there than 1e-12 of the norm of all gradients. Of these the norm is
taken, in cosched and in PyTorch, as a share of all gradients'; it may be a thousandth of the limit.

A gradient jumps where an activation crosses the kink of a ReLU or another element becomes the maximum of a pool, so
the two systems' rounding decides about single elements, and a network has millions of them. So PyTorch runs twice.
First by itself, which gives what is compared of the forward pass: these functions have no jumps. Then for the gradients
with cosched's decisions: the output of each layer that a ReLU or pool follows (convolution with bias, dense, batch
norm), compared in the first run, is set to cosched's values. All gradients of this run are computed by PyTorch. So
are those of the third, in double precision, and its last columns tell whose rounding the errors are. With
--own-decisions PyTorch always decides by itself: that shows what single decisions do to gradients.

Needs Debian's python3-torch and python3-torchvision (compare.sh installs them) and a built cosched. Exit code 1 if an
error is above the limit.
"""
import argparse
import math
import pathlib
import subprocess
import sys
import tempfile
import typing

import numpy
import torch

import gradient_models
import weights_file


ZERO = 1e-12  # Of all gradients in double precision, at most.
ZERO_IN_FLOATS = 1e-3  # In single precision, of the limit.


class Step(typing.NamedTuple):
    loss: float
    logits: numpy.ndarray
    gradients: dict  # By cosched's names of the variables.


class TakeOver(torch.autograd.Function):
    """The values of another run, with the gradient as if they were the layer's own."""

    @staticmethod
    def forward(_, output, values):
        return values.to(output.dtype, copy=True)

    @staticmethod
    def backward(_, gradient):
        return gradient, None


def distance(ours, theirs):
    return numpy.linalg.norm(numpy.asarray(ours, dtype=numpy.float64) - numpy.asarray(theirs, dtype=numpy.float64))


def relative_error(ours, theirs):
    return distance(ours, theirs) / distance(theirs, 0)


def errors_of_gradients(ours, theirs, exact):
    """Of each variable: the errors of cosched to PyTorch, of PyTorch to double precision and of cosched to it; and of
    those whose gradient is 0 the shares of all in cosched and in PyTorch."""
    if ours.keys() != exact.keys():
        raise ValueError(f"different variables: {sorted(ours.keys() ^ exact.keys())}")
    total = math.hypot(*(distance(gradient, 0) for gradient in exact.values()))
    errors, zeros = {}, {}
    for name, gradient in exact.items():
        if distance(gradient, 0) < ZERO * total:
            zeros[name] = (distance(ours[name], 0) / total, distance(theirs[name], 0) / total)
        else:
            errors[name] = (relative_error(ours[name], theirs[name]), relative_error(theirs[name], gradient),
                            relative_error(ours[name], gradient))
    return errors, zeros


def cosched_step(arguments, name, model, images, labels):
    """The step and {layer: its output, in PyTorch's order}."""
    with tempfile.TemporaryDirectory() as folder:
        given, taken, layers = (pathlib.Path(folder, file) for file in ("given", "taken", "layers"))
        weights_file.write(given, {**gradient_models.tensors(name, model, False),
                                   "images": images.permute(0, 2, 3, 1).contiguous().numpy(),
                                   "labels": labels.to(torch.int32).numpy()})
        subprocess.run([arguments.cosched, "gradients", "--model", name, "--tensors", given, "--out", taken,
                        "--layers", layers, "--threads", str(arguments.threads)], check=True)
        gradients, outputs = weights_file.read(taken), weights_file.read(layers)
    loss, logits = gradients.pop("loss"), gradients.pop("logits")
    in_order = {layer: torch.tensor(output.transpose(0, 3, 1, 2) if output.ndim == 4 else output).contiguous()
                for layer, output in outputs.items()}
    return Step(loss.item(), logits, gradients), in_order


def with_hooks(name, model, names, hook, run):
    """run() while hook(layer, output) sees the output of each layer of `names`; what it returns takes its place."""
    modules = {layer: module for layer, module in gradient_models.layers(name, model) if layer in names}
    if modules.keys() != names:
        raise ValueError(f"layers that only cosched has: {sorted(names - modules.keys())}")
    hooks = [module.register_forward_hook(lambda _, __, output, layer=layer: hook(layer, output))
             for layer, module in modules.items()]
    try:
        return run()
    finally:
        for handle in hooks:
            handle.remove()


def forward_errors(name, model, images, labels, ours, outputs):
    """Of PyTorch by itself: {what: relative error} of layers' outputs, logits and loss; how many signs differ."""
    errors, signs = {}, [0]

    def compare_layer(layer, output):
        errors[layer] = relative_error(outputs[layer].numpy(), output.numpy())
        signs[0] += torch.count_nonzero((outputs[layer] > 0) != (output > 0)).item()

    with torch.no_grad():
        logits = with_hooks(name, model, outputs.keys(), compare_layer, lambda: model(images))
    errors["logits"] = relative_error(ours.logits, logits.numpy())
    errors["loss"] = relative_error(ours.loss, torch.nn.functional.cross_entropy(logits, labels).item())
    return errors, signs[0]


def torch_gradients(name, model, images, labels, outputs):
    """By cosched's names, with cosched's values as the outputs of these layers."""

    def backward():
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        gradients = gradient_models.tensors(name, model, True)
        model.zero_grad(set_to_none=True)
        return gradients

    return with_hooks(name, model, outputs.keys(), lambda layer, output: TakeOver.apply(output, outputs[layer]),
                      backward)


class Errors(typing.NamedTuple):
    forward: dict  # Of layers' outputs, logits and loss.
    signs: int  # Of layers' outputs, so many differ.
    gradients: dict
    zeros: dict


def errors_of_seed(arguments, name, seed):
    model = gradient_models.build(name, seed)
    channels, side = gradient_models.IMAGES.get(name, (3, 224))
    side = side if name in gradient_models.FLATTENED else arguments.size or side
    images = torch.randn(arguments.batch, channels, side, side)
    rows = arguments.batch * side * side if name == "segmenter" else arguments.batch
    labels = torch.randint(gradient_models.CLASSES.get(name, 1000), (rows,))
    ours, outputs = cosched_step(arguments, name, model, images, labels)
    forward, signs = forward_errors(name, model, images, labels, ours, outputs)
    if arguments.own_decisions:
        outputs = {}
    theirs = torch_gradients(name, model, images, labels, outputs)
    exact = torch_gradients(name, model.double(), images.double(), labels, outputs)
    return Errors(forward, signs, *errors_of_gradients(ours.gradients, theirs, exact))


def compare(arguments, name):
    """Prints the model's row, the largest errors of all seeds; returns whether they are within the limit."""
    seeds = [errors_of_seed(arguments, name, seed) for seed in range(1, arguments.seeds + 1)]
    loss, logits = (numpy.max([seed.forward.pop(what) for seed in seeds]) for what in ("loss", "logits"))
    layers = numpy.max([list(seed.forward.values()) for seed in seeds])  # numpy.max, unlike max, keeps a NaN.
    variables = [variable for seed in seeds for variable in seed.gradients]
    gradients = numpy.array([errors for seed in seeds for errors in seed.gradients.values()])
    worst, torch_to_double, cosched_to_double = gradients.max(axis=0)
    zeros = numpy.array([shares for seed in seeds for shares in seed.zeros.values()] or [(0.0, 0.0)]).max(axis=0)
    row = [name, loss, logits, len(seeds[0].forward), layers, " ".join(str(seed.signs) for seed in seeds),
           len(seeds[0].gradients), numpy.median(gradients[:, 0]), worst, variables[gradients[:, 0].argmax()],
           torch_to_double, cosched_to_double, len(seeds[0].zeros), *zeros]
    print("| " + " | ".join(f"{cell:.1e}" if isinstance(cell, float) else str(cell) for cell in row) + " |", flush=True)
    return all(error <= arguments.limit for error in (loss, logits, layers, worst, zeros[0] / ZERO_IN_FLOATS))


def parse_arguments():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: all")
    parser.add_argument("--cosched", default=root / "build" / "cosched")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1e-3)
    parser.add_argument("--size", type=int,
                        help="side of the images, but for models that flatten them; default: the model's")
    parser.add_argument("--own-decisions", action="store_true", help="PyTorch's decide for its gradients")
    arguments = parser.parse_args()
    unknown = set(arguments.models) - gradient_models.BUILDERS.keys()
    if unknown:
        parser.error(f"unknown models: {', '.join(sorted(unknown))}; allowed: {', '.join(gradient_models.BUILDERS)}")
    return arguments


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    columns = ["model", "loss", "logits", "layers", "worst layer", "other signs by seed", "gradients", "median",
               "worst", "which", "PyTorch to double", "cosched to double", "zero gradients", "in cosched", "in PyTorch"]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    models = arguments.models or list(gradient_models.BUILDERS)
    failed = [name for name in models if not compare(arguments, name)]
    print(f"{len(models) - len(failed)} of {len(models)} models within {arguments.limit:g}"
          + (f"; above: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

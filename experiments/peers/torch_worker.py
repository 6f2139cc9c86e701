#!/usr/bin/env python3
"""PyTorch's side: torch_worker.py MODEL BATCH THREADS inference|training speaks the line protocol of workers.py.

Inference is scripted and frozen; training is an eager step with SGD and momentum. All variants of it below are tried and the
fastest is taken and named, so that cosched meets PyTorch at its best.
"""
import json
import resource
import sys
import time
import warnings

import torch
from torch import nn

import peer_models

WARM_RUNS = 3  # The profiling executor specialises in the second run.
TRIAL_SECONDS = 0.5


def scripted(model):
    return torch.jit.freeze(torch.jit.script(model))


def infer_frozen(model, images):
    frozen = scripted(model)
    return lambda: frozen(images)


def infer_optimized(model, images):
    optimized = torch.jit.optimize_for_inference(scripted(model))
    return lambda: optimized(images)


def infer_channels_last(model, images):
    frozen = scripted(model.to(memory_format=torch.channels_last))
    images = images.contiguous(memory_format=torch.channels_last)
    return lambda: frozen(images)


def train(model, images, labels):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    loss = nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss(model(images), labels).backward()
        optimizer.step()
    return step


def train_channels_last(model, images, labels):
    return train(model.to(memory_format=torch.channels_last), images.contiguous(memory_format=torch.channels_last), labels)


INFERENCE = {"frozen": infer_frozen, "frozen+optimize_for_inference": infer_optimized,
             "frozen+channels_last": infer_channels_last}
TRAINING = {"eager": train, "eager+channels_last": train_channels_last}


def run_for(limit, run, batch):
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu, start, runs, seconds = usage.ru_utime + usage.ru_stime, time.monotonic(), 0, 0
    while seconds < limit or not runs:
        run()
        runs += 1
        seconds = time.monotonic() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"images": runs * batch, "seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime - cpu}


def prepare(name, batch, mode, variant):
    """A warm function that does one run."""
    model, images = peer_models.build(name, training=mode == "training"), peer_models.images(name, batch)
    if mode == "training":
        run = TRAINING[variant](model, images, peer_models.labels(name, batch))
    else:
        run = INFERENCE[variant](model, images)
    for _ in range(WARM_RUNS):
        run()
    return run


def fastest(name, batch, mode):
    speeds = {}
    for variant in TRAINING if mode == "training" else INFERENCE:
        trial = run_for(TRIAL_SECONDS, prepare(name, batch, mode, variant), batch)
        speeds[variant] = trial["images"] / trial["seconds"]
    return max(speeds, key=speeds.get)


def reply(values):
    print(json.dumps(values), flush=True)


def serve(name, batch, mode):
    runtime = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    variant = fastest(name, batch, mode)
    run = prepare(name, batch, mode, variant)
    warm = run_for(0, run, batch)
    reply({"ready": True, "seconds_per_run": warm["seconds"], "runtime_kib": runtime, "variant": variant})
    for line in sys.stdin:
        command, argument = line.split()
        if command != "run":
            sys.exit(f"torch_worker.py: unknown command: {line}")
        reply(run_for(float(argument), run, batch))


def main():
    warnings.filterwarnings("ignore")
    name, batch, threads, mode = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.set_num_interop_threads(1)
    if mode == "training":
        serve(name, int(batch), mode)
    else:
        with torch.inference_mode():
            serve(name, int(batch), mode)


if __name__ == "__main__":
    main()

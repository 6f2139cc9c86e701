#!/usr/bin/python3
"""Trains a network of torchvision's on random images, with as many threads as cosched says: an example of a
program whose threads follow its grant by three lines (connect, poll, step). Debian: python3-torch,
python3-torchvision."""
import argparse
import ctypes
import pathlib
import sys

try:
    import torch
    import torchvision
except ImportError as error:
    sys.exit(f"{error}: apt-get install --no-install-recommends python3-torch python3-torchvision")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client"))
import cosched  # noqa: E402


def set_threads(threads):
    """PyTorch's own, and those of its BLAS: torch.set_num_threads does not reach an OpenBLAS with a pool of its own (Debian's
    libopenblas0-pthread), whose products would go on with the threads that they began with."""
    torch.set_num_threads(threads)
    try:
        ctypes.CDLL("libblas.so.3").openblas_set_num_threads(threads)
    except (OSError, AttributeError):
        pass  # Another BLAS, or PyTorch has it built in.


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=224, help="of an image")
    arguments = parser.parse_args()

    client = cosched.connect()
    torch.manual_seed(arguments.seed)
    network = getattr(torchvision.models, arguments.model)()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    images = torch.rand(arguments.batch, 3, arguments.size, arguments.size)
    labels = torch.randint(0, 1000, (arguments.batch,))
    for step in range(arguments.steps):
        if threads := client.poll():
            set_threads(threads)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        client.step(arguments.batch)
        print(f"step {step + 1} loss {loss.item():.6f}", flush=True)


main()

#!/usr/bin/python3
"""Trains a network of torchvision's on random images, with as many threads as cosched says: an example of a
program whose threads follow its grant by three lines (connect, poll, step). Debian: python3-torch,
python3-torchvision."""
import argparse
import pathlib
import sys

try:
    import torch
    import torchvision
except ImportError as error:
    sys.exit(f"{error}: apt-get install --no-install-recommends python3-torch python3-torchvision libopenblas0-openmp")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client"))
import cosched  # noqa: E402


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
            torch.set_num_threads(threads)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        client.step(arguments.batch)
        print(f"step {step + 1} loss {loss.item():.6f}", flush=True)


main()

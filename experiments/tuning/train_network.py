"""Trains a network that detol proposes, with PyTorch, on images in IDX files.

  detol tune --space experiments/tuning/train_network.yaml     # runs it for every trial

  train_network.py network.py --data FOLDER --lr 0.01 ...      # by hand, where network.py is that of a trial

network.py is the file {network.py} of a trial (docs/tuning.md): a class Model of torch.nn. The last tenth of
the training images is for validation. After every epoch the program writes a checkpoint, reports the accuracy and
looks whether it is to stop; it goes on from its checkpoint if there is one.
"""

import argparse
import gzip
import importlib.util
import os
import pathlib
import struct
import sys

import torch
from torch import nn

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import detol


def read_idx(path):
    """Returns the array of an IDX file, plain or gzip, as a tensor of bytes."""
    found = path if path.exists() else path.with_name(path.name + ".gz")
    data = (gzip.open if found.suffix == ".gz" else open)(found, "rb").read()
    dimensions = data[3]
    shape = struct.unpack(">%dI" % dimensions, data[4 : 4 + 4 * dimensions])
    return torch.frombuffer(bytearray(data[4 + 4 * dimensions :]), dtype=torch.uint8).reshape(shape)


def load(folder, most):
    """Returns training images (N x 1 x H x W) and labels, then those of validation."""
    images = read_idx(folder / "train-images-idx3-ubyte")[:, None].float() / 255
    labels = read_idx(folder / "train-labels-idx1-ubyte").long()
    training = len(images) * 9 // 10
    mean, deviation = images[:training].mean(), images[:training].std()
    images = (images - mean) / deviation
    chosen = min(training, most) if most else training
    return images[:chosen], labels[:chosen], images[training:], labels[training:]


def network_of(path):
    """Returns the model of a file that detol wrote."""
    spec = importlib.util.spec_from_file_location("network", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Model()


def initialise(model):
    """He et al. (2015) for convolutions and dense layers, as detol's own trainer begins."""
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def train_epoch(model, optimizer, scheduler, images, labels, batch):
    model.train()
    order = torch.randperm(len(images))
    for chosen in order.split(batch):
        if len(chosen) < 2:  # a batch norm needs two
            continue
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images[chosen]), labels[chosen]).backward()
        optimizer.step()
        scheduler.step()


@torch.no_grad()
def accuracy(model, images, labels):
    model.eval()
    right = sum((model(some).argmax(1) == of).sum() for some, of in zip(images.split(500), labels.split(500)))
    return float(right) / len(images)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", help="the file {network.py} of the trial")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--images", type=int, default=0, help="train with so many; 0: all")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=1e-4)
    return parser.parse_args()


def main():
    chosen = arguments()
    trial = detol.trial()
    torch.manual_seed(trial.seed)
    images, labels, *validation = load(chosen.data, chosen.images)
    model = network_of(chosen.network)
    initialise(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=chosen.lr, momentum=chosen.momentum, nesterov=chosen.momentum > 0,
                                weight_decay=chosen.weight_decay)
    steps = chosen.epochs * -(-len(images) // chosen.batch)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    first = 1
    if trial.is_searched and trial.checkpoint.exists():
        state = torch.load(trial.checkpoint)
        first = state.pop("epoch") + 1
        for name, part in parts.items():
            part.load_state_dict(state[name])
    weights = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    for epoch in range(first, chosen.epochs + 1):
        train_epoch(model, optimizer, scheduler, images, labels, chosen.batch)
        if trial.is_searched:  # before the report, so that it is never behind it
            temporary = trial.checkpoint.with_suffix(".tmp")
            torch.save({name: part.state_dict() for name, part in parts.items()} | {"epoch": epoch}, temporary)
            os.replace(temporary, trial.checkpoint)
        trial.report(epoch, val_accuracy=accuracy(model, *validation), torch_params=weights)
        if trial.should_stop():
            break


if __name__ == "__main__":
    main()

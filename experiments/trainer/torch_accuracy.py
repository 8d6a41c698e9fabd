"""PyTorch's side of `accuracy`: trains one network and prints its accuracy on the validation arrays.

  torch_accuracy.py NETWORK FOLDER SEED EPOCHS LR MOMENTUM WEIGHT_DECAY BATCH
"""
import math
import pathlib
import sys

import numpy
import torch
from torch import nn
from torch.nn import functional as F

import torch_side

NETWORKS = {"lenet": lambda: torch_side.lenet(bias=True), "mlp": torch_side.mlp,
            "resnet8": lambda: torch_side.resnet(1, image=(1, 28, 28))}


def arrays(folder, part):
    images, labels = (numpy.load(folder / f"{kind}_{part}.npy") for kind in "xy")
    return torch.from_numpy(images[:, None].astype(numpy.float32) / 255), torch.from_numpy(labels.astype(numpy.int64))


def he_normal(model):
    for layer in model.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def sgd(model, momentum, weight_decay):
    weights = [one for one in model.parameters() if one.dim() > 1]
    others = [one for one in model.parameters() if one.dim() == 1]
    groups = [{"params": weights, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0}]
    return torch.optim.SGD([group for group in groups if group["params"]], lr=1, momentum=momentum, nesterov=True)


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        right = sum((model(images[i:i + 500]).argmax(1) == labels[i:i + 500]).sum().item()
                    for i in range(0, len(images), 500))
    return right / len(images)


def train(model, images, labels, epochs, rate, optimiser, batch):
    model.train()
    steps = len(images) // batch
    for step in range(epochs * steps):
        if step % steps == 0:
            order = torch.randperm(len(images))
        for group in optimiser.param_groups:
            group["lr"] = rate * (1 + math.cos(math.pi * step / (epochs * steps))) / 2
        chosen = order[step % steps * batch:][:batch]
        optimiser.zero_grad(set_to_none=True)
        F.cross_entropy(model(images[chosen]), labels[chosen]).backward()
        optimiser.step()


def main():
    network, folder, seed, epochs, rate, momentum, weight_decay, batch = sys.argv[1:]
    torch.set_num_threads(1)
    torch.manual_seed(int(seed))
    images, labels = arrays(pathlib.Path(folder), "train")
    mean, deviation = images.mean(), images.std(unbiased=False)
    model, _ = NETWORKS[network]()
    he_normal(model)
    train(model, (images - mean) / deviation, labels, int(epochs), float(rate),
          sgd(model, float(momentum), float(weight_decay)), int(batch))
    images, labels = arrays(pathlib.Path(folder), "val")
    print(accuracy(model, (images - mean) / deviation, labels))


if __name__ == "__main__":
    main()

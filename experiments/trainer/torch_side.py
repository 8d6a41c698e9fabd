"""PyTorch's side of the comparison: trains one reference network, as fast as PyTorch can on one core.

  torch_side.py NETWORK BATCH VARIANT

VARIANT joins words with "+": `channels_last`, `foreach` (the optimiser's fused passes), `compiled`
(torch.compile); `plain` is none of them. For every line on stdin it trains for about a second and
answers with images per second, the median step by the thread's CPU time. The networks are those of
bench/networks.cpp.
"""
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


def conv(inputs, outputs, kernel, stride=1, bias=False):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=bias)


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first, self.second = conv(inputs, outputs, 3, stride), conv(outputs, outputs, 3)
        self.first_norm, self.second_norm = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        inner = F.relu(self.first_norm(self.first(x)), inplace=True)
        return F.relu(self.second_norm(self.second(inner)) + self.shortcut(x), inplace=True)


def classifier(channels):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)]


def resnet(blocks, width=16, stem_stride=1, image=(3, 32, 32)):
    layers = [conv(image[0], width, 3, stem_stride), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
    inputs = width
    for stage in range(3):
        for block in range(blocks):
            layers.append(Residual(inputs, width << stage, 2 if stage > 0 and block == 0 else 1))
            inputs = width << stage
    return nn.Sequential(*layers, *classifier(inputs)), image


class Cell(nn.Module):
    """nor_conv_3x3 | nor_conv_1x1, nor_conv_3x3 | skip, avg_pool_3x3, nor_conv_3x3"""

    def __init__(self, channels):
        super().__init__()
        self.operations = nn.ModuleList(
            nn.Sequential(nn.ReLU(), conv(channels, channels, kernel), nn.BatchNorm2d(channels))
            for kernel in (3, 1, 3, 3))
        self.pool = nn.AvgPool2d(3, 1, 1, count_include_pad=False)

    def forward(self, x):
        one = self.operations[0](x)
        two = self.operations[1](x) + self.operations[2](one)
        return x + self.pool(one) + self.operations[3](two)


def nb201():
    layers = [conv(3, 16, 3), nn.BatchNorm2d(16), Cell(16)]
    for channels in (32, 64):
        layers += [Residual(channels // 2, channels, 2), Cell(channels)]
    return nn.Sequential(*layers, nn.BatchNorm2d(64), nn.ReLU(inplace=True), *classifier(64)), (3, 32, 32)


def lenet(bias=False):
    pool = nn.MaxPool2d(3, 2, 1)
    return nn.Sequential(conv(1, 32, 3, bias=bias), nn.ReLU(inplace=True), pool, conv(32, 64, 3, bias=bias),
                         nn.ReLU(inplace=True), pool, nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(inplace=True),
                         nn.Linear(128, 10)), (1, 28, 28)


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(inplace=True), nn.Linear(256, 256),
                         nn.ReLU(inplace=True), nn.Linear(256, 10)), (1, 28, 28)


NETWORKS = {"lenet": lenet, "resnet8": lambda: resnet(1), "resnet20": lambda: resnet(3), "nb201": nb201,
            "mlp": mlp, "wide64": lambda: resnet(1, 64, 2)}


class Trainer:
    def __init__(self, network, batch, words):
        torch.set_num_threads(1)
        torch.manual_seed(1)
        self.model, shape = NETWORKS[network]()
        self.images = torch.randn(batch, *shape)
        self.labels = torch.randint(10, (batch,))
        if "channels_last" in words:
            self.model = self.model.to(memory_format=torch.channels_last)
            self.images = self.images.to(memory_format=torch.channels_last)
        self.model.train()
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=0.001, momentum=0.9, nesterov=True,
                                         foreach="foreach" in words)
        self.forward = self.loss
        if "compiled" in words:
            self.forward = torch.compile(self.loss)

    def loss(self, images, labels):
        return F.cross_entropy(self.model(images), labels)

    def step(self):
        self.optimiser.zero_grad(set_to_none=True)
        self.forward(self.images, self.labels).backward()
        self.optimiser.step()

    def images_per_second(self, seconds=1.0):
        for _ in range(3):
            self.step()
        times = []
        while sum(times) < seconds or len(times) < 5:
            before = time.thread_time()
            self.step()
            times.append(time.thread_time() - before)
        return len(self.images) / statistics.median(times)


def main():
    network, batch, variant = sys.argv[1:]
    trainer = Trainer(network, int(batch), variant.split("+"))
    for _ in sys.stdin:
        print(trainer.images_per_second(), flush=True)


if __name__ == "__main__":
    main()

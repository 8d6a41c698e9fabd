"""PyTorch's side of the comparison on a GPU: trains one reference network as fast as PyTorch can.

  torch_side.py NETWORK BATCH VARIANT

VARIANT joins words with "+": `autocast` (bf16 where PyTorch chooses it) or `bf16` (the whole model);
`eager`; `compile` (torch.compile, mode max-autotune, CUDA graphs included); `overhead` (mode
reduce-overhead); `graph`: the whole step, optimiser included, captured in one CUDA graph by hand.
Always: channels_last, the fused optimiser, cuDNN's own choice of algorithms by timing, TF32 allowed,
the data set on the device, normalised and in the step's own format; a step gathers its batch there.

For every line on stdin, a number of seconds, it trains about as long and answers with images per second: steps without
any wait for the device between them, timed by its own clock.
"""
import pathlib
import sys

import torch
from torch.nn import functional as F

HERE = pathlib.Path(__file__).resolve().parent
if (HERE / "torch_networks.py").exists():  # unpacked from the archive of `pack`
    from torch_networks import NETWORKS
else:
    sys.path.append(str(HERE.parent / "trainer"))
    import importlib.util
    spec = importlib.util.spec_from_file_location("torch_networks", HERE.parent / "trainer" / "torch_side.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    NETWORKS = module.NETWORKS

IMAGES = 45_000


class Trainer:
    def __init__(self, network, batch, words):
        torch.manual_seed(1)
        torch.backends.cudnn.benchmark = True
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        model, shape = NETWORKS[network]()
        self.type = torch.bfloat16 if "bf16" in words else torch.float32
        self.autocast = "autocast" in words
        self.model = model.to("cuda", memory_format=torch.channels_last, dtype=self.type).train()
        stored = torch.bfloat16 if "bf16" in words or self.autocast else torch.float32
        channels, height, width = shape  # channels last, so that gathered batches are, too
        self.data = torch.randn(IMAGES, height, width, channels, device="cuda", dtype=stored)
        self.targets = torch.randint(10, (IMAGES,), device="cuda")
        self.order = torch.randperm(IMAGES, device="cuda")
        self.chosen = self.order[:batch].clone()
        self.batch, self.at = batch, 0
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=0.001, momentum=0.9, nesterov=True, fused=True)
        self.loss_of = self.loss
        if "compile" in words:
            self.loss_of = torch.compile(self.loss, mode="max-autotune")
        if "overhead" in words:
            self.loss_of = torch.compile(self.loss, mode="reduce-overhead")
        self.step = self.captured() if "graph" in words else self.plain_step

    def loss(self, images, labels):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.autocast):
            outputs = self.model(images)
        return F.cross_entropy(outputs.float(), labels)

    def work(self):
        images = self.data[self.chosen].permute(0, 3, 1, 2)
        self.loss_of(images, self.targets[self.chosen]).backward()
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)

    def choose(self):
        if self.at + self.batch > IMAGES:
            self.at = 0
        self.chosen.copy_(self.order[self.at:self.at + self.batch])
        self.at += self.batch

    def plain_step(self):
        self.choose()
        torch.compiler.cudagraph_mark_step_begin()
        self.work()

    def captured(self):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(5):
                self.work()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.work()

        def step():
            self.choose()
            graph.replay()
        return step

    def seconds_of(self, steps):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        for _ in range(steps):
            self.step()
        after.record()
        torch.cuda.synchronize()
        return before.elapsed_time(after) / 1000

    def images_per_second(self, seconds):
        self.seconds_of(20)
        steps = max(20, int(20 * seconds / self.seconds_of(20)))
        return self.batch * steps / self.seconds_of(steps)


def main():
    network, batch, variant = sys.argv[1:]
    trainer = Trainer(network, int(batch), variant.split("+"))
    trainer.images_per_second(0.5)  # compiles, tunes and warms up before the first measurement
    print("ready", flush=True)
    for line in sys.stdin:
        print(trainer.images_per_second(float(line)), flush=True)


if __name__ == "__main__":
    main()

"""Runs each network of a folder of random_exports in ONNX Runtime and in PyTorch, at batches of 1, 7 and
64, and compares what comes out with the reference backend's logits. Of each .onnx file, onnx's full
checker and strict shape inference must pass. Prints the largest difference at any batch, and in brackets
the largest as a share of the network's largest logit, where that is above 1; exit code 1 if a share is
above 1e-4.

    run_exports.py FOLDER
"""

import collections
import importlib.util
import pathlib
import sys

import numpy
import onnx
import onnxruntime
import torch

TOLERANCE = 1e-4
BATCHES = (1, 7, 64)


def session_of(file):
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def torch_model(file):
    spec = importlib.util.spec_from_file_location("exported", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load()


def runs_of(stem):
    """Returns by name what computes a network's outputs from inputs."""
    session, model = session_of(stem.with_suffix(".onnx")), torch_model(stem.with_suffix(".py"))
    shape = session.get_inputs()[0].shape[1:]
    yield "onnx", lambda inputs: session.run(None, {"input": inputs.reshape(-1, *shape)})[0]
    yield "torch", lambda inputs: model(torch.from_numpy(inputs).reshape(-1, *shape)).detach().numpy()


def difference(outputs, inputs, expected):
    """Returns the largest difference at any batch."""
    worst = 0
    for batch in BATCHES:
        found = outputs(inputs[:batch])
        assert found.shape == expected[:batch].shape and numpy.all(numpy.isfinite(found)), found
        worst = max(worst, numpy.max(numpy.abs(found - expected[:batch])))
    return worst


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1])
    absolute, relative = collections.Counter(), collections.Counter()
    largest_logit = 0
    cases = sorted(folder.glob("*.inputs"), key=lambda file: int(file.stem))
    for case in cases:
        logits = numpy.fromfile(case.with_suffix(".logits"), numpy.float32).reshape(max(BATCHES), -1)
        inputs = numpy.fromfile(case.with_suffix(".inputs"), numpy.float32).reshape(max(BATCHES), -1)
        scale = max(1, numpy.max(numpy.abs(logits)))
        largest_logit = max(largest_logit, scale)
        for suffix in ("", "-folded"):
            for name, outputs in runs_of(folder / (case.stem + suffix)):
                found = difference(outputs, inputs, logits)
                absolute[name + suffix] = max(absolute[name + suffix], found)
                relative[name + suffix] = max(relative[name + suffix], found / scale)
    columns = [f"{name} {absolute[name]:.1e} ({relative[name]:.1e})" for name in absolute]
    print(f"{len(cases)} networks, logits up to {largest_logit:.3g}: " + ", ".join(columns))
    sys.exit(0 if cases and max(relative.values()) <= TOLERANCE else 1)


main()

#!/usr/bin/env python3
"""Compares ONNX Runtime's logits with those that detol wrote beside the model.

    detol export STUDY --to onnx --raw -o out && detol export STUDY --to json --verify -o out
    python compare_logits.py out/best.onnx out/best.json \
        /usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz [LABELS]

Needs Python 3.8, numpy, onnx and onnxruntime (pip install numpy onnx onnxruntime). Exits 1 if a
logit differs by more than --tolerance. With LABELS it also prints the accuracy on all the images.
"""
import argparse
import gzip
import json
import sys

import numpy
import onnx
import onnxruntime


def read_idx(path):
    """The array in an IDX file of bytes, plain or gzip."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    rank = data[3]
    shape = numpy.frombuffer(data, ">i4", rank, 4)
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * rank).reshape(shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("onnx")
    parser.add_argument("json")
    parser.add_argument("images", help="the data set's test images, IDX")
    parser.add_argument("labels", nargs="?", help="their labels, IDX")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    arguments = parser.parse_args()

    onnx.checker.check_model(onnx.load(arguments.onnx), full_check=True)
    session = onnxruntime.InferenceSession(arguments.onnx, providers=["CPUExecutionProvider"])

    def run(images):
        pixels = images.astype(numpy.float32) / numpy.float32(255)
        return session.run([session.get_outputs()[0].name], {"input": pixels})[0]

    with open(arguments.json, encoding="utf-8") as file:
        check = json.load(file)["check"]
    ours = numpy.array(check.get("logits", check.get("prediction")), numpy.float32)
    images = read_idx(arguments.images).reshape(-1, *session.get_inputs()[0].shape[1:])
    theirs = run(images[: check["count"]])
    worst = float(numpy.abs(ours - theirs).max())
    print(f"{check['images']}: largest difference {worst:.3g}, logits up to {abs(ours).max():.3g}")
    if arguments.labels:
        labels = read_idx(arguments.labels)
        batches = [run(images[at : at + 500]).argmax(1) for at in range(0, len(images), 500)]
        accuracy = float((numpy.concatenate(batches) == labels).mean())
        print(f"accuracy on {len(labels)} images: {accuracy:.4f}")
    return 0 if worst <= arguments.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())

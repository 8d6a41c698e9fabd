#!/usr/bin/env python3
"""Does an exported graph answer for original pictures as `detol predict` does?

    detol export STUDY --to onnx
    detol predict STUDY --data PICTURES > answers.csv
    python compare_onnx.py PICTURES STUDY-trialN.onnx answers.csv

Decodes every picture with Pillow, upright, as RGB or, where it has transparency, RGBA, runs the
graph on its bytes as they are, 1 x H x W x C, and compares labels and probabilities. Exits 1 if a
label differs, or a probability by more than 1e-4. Needs numpy, pandas, Pillow and onnxruntime.
"""
import argparse
import pathlib
import sys

import numpy
import onnxruntime
import pandas
from PIL import Image, ImageOps

TOLERANCE = 1e-4


def decode(path):
    """Height x width x 3 or 4 bytes."""
    with Image.open(path) as opened:
        image = ImageOps.exif_transpose(opened)
        if image.mode.startswith("I;16"):  # Pillow would cut its values off at 255
            image = Image.fromarray((numpy.asarray(image) >> 8).astype(numpy.uint8))
        has_alpha = image.mode in ("LA", "RGBA", "PA") or "transparency" in image.info
        return numpy.asarray(image.convert("RGBA" if has_alpha else "RGB"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=pathlib.Path)
    parser.add_argument("model")
    parser.add_argument("answers")
    arguments = parser.parse_args()
    session = onnxruntime.InferenceSession(arguments.model, providers=["CPUExecutionProvider"])
    answers = pandas.read_csv(arguments.answers, dtype={"input": str, "label": str})
    expected = answers.filter(regex="^probabilities").to_numpy()
    labels, worst = 0, 0.0
    for i, name in enumerate(answers["input"]):
        picture = decode(arguments.pictures / name)[numpy.newaxis]
        label, probabilities = session.run(["label", "probabilities"], {"input": picture})
        labels += str(label[0]) != answers["label"][i]
        worst = max(worst, float(numpy.max(numpy.abs(probabilities[0] - expected[i]))))
    print(f"{len(answers)} pictures, {labels} labels differ, largest difference of a probability {worst:.2g}")
    sys.exit(1 if labels or worst > TOLERANCE or answers.empty else 0)


if __name__ == "__main__":
    main()

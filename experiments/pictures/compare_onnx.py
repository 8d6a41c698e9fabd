#!/usr/bin/env python3
"""Does an exported graph make of original pictures what detol trains on?

    detol data pack --from image_folder --data PICTURES --set data.size=64 --out packed.detol
    python compare_onnx.py PICTURES packed.detol MODEL.onnx [--output picture.pixels]

Decodes every picture with Pillow, upright, as RGB or, where it has transparency, RGBA, runs the
graph on its bytes as they are, 1 x H x W x C, and looks among the packed images for what comes out
of the output, in [0, 1]: equal bytes. Exits 1 if a picture is missing. Needs numpy, Pillow, onnx and
onnxruntime.
"""
import argparse
import pathlib
import sys

import numpy
import onnx
import onnxruntime
from PIL import Image, ImageOps

from compare_pixels import ENDINGS, read_packed


def decode(path):
    """Height x width x 3 or 4 bytes."""
    with Image.open(path) as opened:
        image = ImageOps.exif_transpose(opened)
        if image.mode.startswith("I;16"):  # Pillow would cut its values off at 255
            image = Image.fromarray((numpy.asarray(image) >> 8).astype(numpy.uint8))
        has_alpha = image.mode in ("LA", "RGBA", "PA") or "transparency" in image.info
        return numpy.asarray(image.convert("RGBA" if has_alpha else "RGB"))


def session_with(model, output):
    """A session that gives an edge inside of the graph."""
    proto = onnx.load(model)
    proto.graph.ClearField("output")
    proto.graph.output.add().name = output
    return onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=pathlib.Path)
    parser.add_argument("packed", type=pathlib.Path)
    parser.add_argument("model")
    parser.add_argument("--output", default="picture.pixels")
    arguments = parser.parse_args()
    there = {image.tobytes() for image in read_packed(arguments.packed)}
    session = session_with(arguments.model, arguments.output)
    name = session.get_inputs()[0].name
    paths = sorted(path for path in arguments.pictures.rglob("*") if path.suffix.lower() in ENDINGS)
    missing = []
    for path in paths:
        made = session.run(None, {name: decode(path)[None]})[0][0]
        if numpy.round(made * 255).astype(numpy.uint8).tobytes() not in there:
            missing.append(path)
    print(f"{len(paths)} pictures: {len(missing)} are not there as ONNX Runtime prepares them")
    for path in missing[:10]:
        print(f"  {path}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

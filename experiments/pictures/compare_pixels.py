#!/usr/bin/env python3
"""Holds the pixels that detol makes of pictures to Pillow's.

    detol data pack --from image_folder --data PICTURES --set data.size=64 --out packed.detol
    python compare_pixels.py PICTURES packed.detol --fit crop

Decodes every picture with Pillow, upright and on white, resizes it by the formula of
trainer/data/formats/resize.h, in numpy, and looks for it among the packed images; also says how far
Pillow's own resizing is from that. Exits 1 if a picture is missing. Needs numpy and Pillow.
"""
import argparse
import json
import pathlib
import struct
import sys

import numpy
from PIL import Image, ImageOps

ENDINGS = (".jpg", ".jpeg", ".png")


def decode(path):
    """Height x width x 3 bytes: upright, on white."""
    with Image.open(path) as opened:
        image = ImageOps.exif_transpose(opened)
        if image.mode.startswith("I;16"):  # Pillow would cut its values off at 255
            image = Image.fromarray((numpy.asarray(image) >> 8).astype(numpy.uint8))
        has_alpha = image.mode in ("LA", "RGBA", "PA") or "transparency" in image.info
        if has_alpha:
            image = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
        return numpy.asarray(image.convert("RGB"))


def scaled_side(pixels, other, size, fit):
    if fit == "stretch":
        return size, 0
    fitted = min(pixels, other) if fit == "crop" else max(pixels, other)
    scaled = max(1, (2 * pixels * size + fitted) // (2 * fitted))
    first = (scaled - size) // 2 if scaled >= size else -((size - scaled) // 2)
    return scaled, first


def weights(pixels, other, size, fit):
    """size x pixels whole numbers."""
    scaled, first = scaled_side(pixels, other, size, fit)
    k = first + numpy.arange(size, dtype=numpy.int64)[:, None]
    p = numpy.arange(pixels, dtype=numpy.int64)[None, :]
    heights = numpy.maximum(0, 2 * max(pixels, scaled) - abs((2 * p + 1) * scaled - (2 * k + 1) * pixels))
    heights[(k[:, 0] < 0) | (k[:, 0] >= scaled)] = 0
    total = numpy.maximum(1, heights.sum(1, keepdims=True))
    shares = (heights.cumsum(1) * 2**17 + total) // (2 * total)
    return numpy.diff(shares, axis=1, prepend=0)


def to_bytes(sums):
    return (sums + 2**15) >> 16


def resize(picture, size, fit):
    height, width = picture.shape[:2]
    across = weights(width, height, size, fit)
    down = weights(height, width, size, fit)
    rows = to_bytes(numpy.einsum("hwc,xw->hxc", picture.astype(numpy.int64), across, optimize=True))
    return to_bytes(numpy.einsum("hxc,yh->yxc", rows, down, optimize=True)).astype(numpy.uint8)


def resize_by_pillow(picture, size, fit):
    height, width = picture.shape[:2]
    (scaled_h, top), (scaled_w, left) = scaled_side(height, width, size, fit), scaled_side(width, height, size, fit)
    image = Image.fromarray(picture).resize((scaled_w, scaled_h), Image.Resampling.BILINEAR)
    return numpy.asarray(image.crop((left, top, left + size, top + size)))


def grey(picture):
    mixed = (picture.astype(numpy.int64) * (19595, 38470, 7471)).sum(2, keepdims=True)
    return to_bytes(mixed).astype(numpy.uint8)


def read_packed(path):
    """N x C x H x W bytes. trainer/data/formats/packed_write.cpp has the layout."""
    data = path.read_bytes()
    head_bytes, _, length = struct.unpack_from("<QQQ", data, 8)
    header = json.loads(data[32 : 32 + length])
    shape = header["shape"]
    count = header["training"] + header["validation"] + header["test"]
    image_bytes = int(numpy.prod(shape))
    images = []
    for first in range(0, count, header["block_images"]):
        at = head_bytes + first // header["block_images"] * header["block_bytes"]
        here = min(header["block_images"], count - first)
        images.append(numpy.frombuffer(data, numpy.uint8, here * image_bytes, at).reshape(here, *shape))
    return numpy.concatenate(images)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=pathlib.Path)
    parser.add_argument("packed", type=pathlib.Path)
    parser.add_argument("--fit", choices=["crop", "pad", "stretch"], default="crop")
    arguments = parser.parse_args()
    packed = read_packed(arguments.packed)
    channels, size = packed.shape[1:3]
    there = {image.tobytes() for image in packed}
    paths = sorted(path for path in arguments.pictures.rglob("*") if path.suffix.lower() in ENDINGS)
    missing, worst = [], 0
    for path in paths:
        picture = decode(path)
        if channels == 1:
            picture = grey(picture)
        made = resize(picture, size, arguments.fit)
        if made.transpose(2, 0, 1).tobytes() not in there:
            missing.append(path)
        if channels == 3:
            theirs = resize_by_pillow(picture, size, arguments.fit)
            worst = max(worst, int(abs(made.astype(int) - theirs).max()))
    print(f"{len(paths)} pictures, {len(packed)} packed: {len(missing)} are not there as Pillow decodes them")
    print(f"largest difference from Pillow's own resizing: {worst}")
    for path in missing[:10]:
        print(f"  {path}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

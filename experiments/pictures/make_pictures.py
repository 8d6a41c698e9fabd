#!/usr/bin/env python3
"""Makes a folder of pictures as people have them: CLASS/*, of two classes.

    python make_pictures.py FOLDER [--count 2000] [--seed 1] [--least 60] [--most 640]

Grey, colour and CMYK JPEG files, baseline and progressive, of every subsampling; PNG files of 1, 8
and 16 bits, with palettes, with transparency; all EXIF orientations in both; endings in upper and
lower case; folders inside of classes; what Windows and macOS leave behind. Needs numpy and Pillow.
"""
import argparse
import pathlib

import numpy
from PIL import Image

ORIENTATION = 0x0112
CLASSES = ("stripes", "blobs")


def photograph(random, name, height, width):
    """Smooth light, noise of a sensor, and stripes or blobs: height x width x 3 bytes."""
    y, x = numpy.mgrid[0:height, 0:width] / max(height, width)
    picture = numpy.zeros((height, width, 3))
    for channel in range(3):
        a, b, c, d = random.uniform(-3, 3, 4)
        picture[..., channel] = 128 + 60 * numpy.sin(a * x + b * y + c) + 30 * d * (x - y)
    if name == "stripes":
        picture += 60 * numpy.sign(numpy.sin(random.uniform(20, 60) * (x + random.uniform(-1, 1) * y)))[..., None]
    else:
        for _ in range(6):
            centre_y, centre_x = random.uniform(0, 1, 2)
            near = (y - centre_y) ** 2 + (x - centre_x) ** 2 < random.uniform(0.05, 0.2) ** 2
            picture[near] += random.uniform(-90, 90, 3)
    picture += random.normal(0, 6, picture.shape)
    return numpy.clip(picture, 0, 255).astype(numpy.uint8)


def with_alpha(random, picture, mode):
    height, width = picture.shape[:2]
    alpha = numpy.clip(random.uniform(0, 255) + numpy.linspace(-200, 200, width)[None, :]
                       + random.normal(0, 9, (height, width)), 0, 255).astype(numpy.uint8)
    image = Image.fromarray(picture).convert(mode[:-1])
    image.putalpha(Image.fromarray(alpha))
    return image


def save(random, picture, stem):
    exif = Image.Exif()
    exif[ORIENTATION] = int(random.integers(1, 9))
    exif[0x010F] = "a camera"
    image = Image.fromarray(picture)
    kind = random.choice(["JPEG"] * 6 + ["L", "CMYK", "progressive", "PNG", "PNG-L", "PNG-LA", "PNG-RGBA",
                                          "PNG-P", "PNG-1", "PNG-16", "PNG-P-clear"])
    if not kind.startswith("PNG"):
        image = image.convert(kind) if kind in ("L", "CMYK") else image
        ending = random.choice([".jpg", ".JPG", ".jpeg", ".JPEG"])
        options = {"quality": int(random.integers(60, 98)), "progressive": kind == "progressive"}
        if kind != "L":
            options["subsampling"] = int(random.integers(0, 3))
        if random.uniform() < 0.7:
            options["exif"] = exif
        image.save(f"{stem}{ending}", "JPEG", **options)
        return
    mode = kind[4:]
    if mode in ("LA", "RGBA"):
        image = with_alpha(random, picture, mode)
    elif mode == "16":
        image = Image.fromarray(numpy.asarray(image.convert("L")).astype(numpy.uint16) * 257)
    elif mode in ("P", "P-clear"):
        image = image.quantize(200)
    elif mode:
        image = image.convert(mode)
    options = {"transparency": bytes(range(0, 200))} if mode == "P-clear" else {}
    if random.uniform() < 0.5:
        options["exif"] = exif
    image.save(f"{stem}{random.choice(['.png', '.PNG'])}", "PNG", **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=int, default=60)
    parser.add_argument("--most", type=int, default=640)
    arguments = parser.parse_args()
    random = numpy.random.default_rng(arguments.seed)
    for name in CLASSES:
        (arguments.folder / name / "more").mkdir(parents=True, exist_ok=True)
        (arguments.folder / name / "Thumbs.db").write_bytes(b"no picture")
        (arguments.folder / name / ".DS_Store").write_bytes(b"no picture")
    for i in range(arguments.count):
        name = CLASSES[i % 2]
        height, width = random.integers(arguments.least, arguments.most, 2)
        stem = arguments.folder / name / ("more" if i % 5 == 0 else ".") / f"{i:05}"
        save(random, photograph(random, name, height, width), stem)


if __name__ == "__main__":
    main()

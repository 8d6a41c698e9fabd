"""Runs each NAME.py of a folder, which loads its NAME.pt, with PyTorch on the floats of NAME.pixels and
compares what comes out with the floats of NAME.logits. Prints the largest difference of each; exit
code 1 if one is too large, 77 if there is no PyTorch to run it with.

    run_pytorch.py FOLDER
"""

import array
import importlib.util
import pathlib
import sys

try:
    import torch
except ImportError as error:
    print(error)
    sys.exit(77)

# Both sides compute in single precision, in different orders.
TOLERANCE = 1e-4


def floats(file):
    numbers = array.array("f")
    numbers.frombytes(file.read_bytes())
    return torch.tensor(numbers)


def difference(file):
    spec = importlib.util.spec_from_file_location("exported", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shape = [int(extent) for extent in file.with_suffix(".shape").read_text().split()]
    with torch.no_grad():
        logits = module.load()(floats(file.with_suffix(".pixels")).reshape(-1, *shape))
    expected = floats(file.with_suffix(".logits")).reshape(logits.shape)
    return float(((logits - expected).abs() / (1 + expected.abs())).max())


def main():
    files = sorted(pathlib.Path(sys.argv[1]).glob("*.py"))
    worst = 0
    for file in files:
        found = difference(file)
        print(f"{file.stem}: {found:.2g}")
        worst = max(worst, found) if found == found else float("inf")
    sys.exit(0 if files and worst < TOLERANCE else 1)


main()

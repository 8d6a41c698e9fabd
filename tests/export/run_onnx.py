"""Runs each NAME.onnx of a folder with ONNX Runtime on the floats of NAME.pixels and compares what
comes out with the floats of NAME.logits; or on the bytes of NAME.bytes, of the shape in NAME.shape,
where what comes out must be equal bit by bit; or on the cells of NAME.cells, a JSON object with a list for
each input, where labels and probabilities are compared with those that belong to the logits, too. Prints the
largest difference of each; exit code 1 if one is too large, 77 if there is no ONNX Runtime (or no NumPy) to
run it with.

    run_onnx.py FOLDER
"""

import json
import pathlib
import sys

try:
    import numpy
    import onnxruntime
except ImportError as error:
    print(error)
    sys.exit(77)

# Both sides compute in single precision, in different orders.
TOLERANCE = 1e-4


def differs_on_bytes(file, session):
    shape = [int(extent) for extent in file.with_suffix(".shape").read_text().split()]
    pixels = numpy.fromfile(file.with_suffix(".bytes"), numpy.uint8).reshape(shape)
    found = session.run(None, {session.get_inputs()[0].name: pixels})[0]
    expected = numpy.fromfile(file.with_suffix(".logits"), numpy.float32).reshape(found.shape)
    return 0 if numpy.array_equal(found, expected) else float("inf")


def relative(found, expected):
    return numpy.max(numpy.abs(found - expected) / (1 + numpy.abs(expected)))


def difference_on_cells(file, session):
    cells = json.loads(file.with_suffix(".cells").read_text())
    feeds = {}
    for node in session.get_inputs():
        if node.type == "tensor(string)":
            values = numpy.array(cells[node.name], dtype=object)
        else:
            values = numpy.array([float("nan") if x is None else x for x in cells[node.name]], numpy.float32)
        feeds[node.name] = values.reshape(-1, node.shape[1])
    label, probabilities, logits = session.run(None, feeds)
    expected = numpy.fromfile(file.with_suffix(".logits"), numpy.float32).reshape(logits.shape)
    names = json.loads(session.get_modelmeta().custom_metadata_map["detol.classes"])
    if list(label) != [names[k] for k in expected.argmax(axis=1)]:
        return float("inf")
    shares = numpy.exp(expected - expected.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return max(relative(logits, expected), relative(probabilities, shares))


def difference(file):
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    if file.with_suffix(".cells").exists():
        return difference_on_cells(file, session)
    if file.with_suffix(".bytes").exists():
        return differs_on_bytes(file, session)
    model_input = session.get_inputs()[0]
    pixels = numpy.fromfile(file.with_suffix(".pixels"), numpy.float32)
    logits = session.run(None, {model_input.name: pixels.reshape(-1, *model_input.shape[1:])})[0]
    expected = numpy.fromfile(file.with_suffix(".logits"), numpy.float32).reshape(logits.shape)
    return relative(logits, expected)


def main():
    files = sorted(pathlib.Path(sys.argv[1]).glob("*.onnx"))
    worst = 0
    for file in files:
        found = difference(file)
        print(f"{file.stem}: {found:.2g}")
        worst = max(worst, found) if found == found else float("inf")
    sys.exit(0 if files and worst < TOLERANCE else 1)


main()

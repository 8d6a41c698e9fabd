"""Reads MODEL.pt and MODEL.py of a folder with Python's own modules alone, and trusts neither: the zip
must be stored, without dates, the pickle may name only what torch.load(weights_only=True) allows.
Writes the tensors' names and shapes to MODEL.names, their numbers to MODEL.floats, the class names to
MODEL.classes, as UTF-8 lines.

    read_state_dict.py FOLDER
"""

import ast
import collections
import io
import math
import pathlib
import pickle
import sys
import zipfile

FIRST_DATE = (1980, 1, 1, 0, 0, 0)  # a zip's zero
Tensor = collections.namedtuple("Tensor", "storage offset shape strides requires_grad hooks")


class StateDict(pickle.Unpickler):
    ALLOWED = {
        ("collections", "OrderedDict"): collections.OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2"): Tensor,
        ("torch", "FloatStorage"): "float",
    }

    def find_class(self, module, name):
        return self.ALLOWED[module, name]

    def persistent_load(self, key):
        kind, storage, name, device, count = key
        assert (kind, storage, device) == ("storage", "float", "cpu"), key
        return name, count


def row_major(shape):
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def read(file):
    archive = zipfile.ZipFile(file)
    assert archive.testzip() is None
    for record in archive.infolist():
        assert record.compress_type == zipfile.ZIP_STORED and record.date_time == FIRST_DATE, record
    assert archive.read("archive/version") == b"3\n"
    assert archive.read("archive/byteorder") == b"little"
    tensors = StateDict(io.BytesIO(archive.read("archive/data.pkl"))).load()
    assert len(archive.infolist()) == len(tensors) + 3
    for name, tensor in tensors.items():
        key, count = tensor.storage
        assert (tensor.offset, tensor.strides) == (0, row_major(tensor.shape)), (name, tensor)
        assert count == math.prod(tensor.shape), (name, tensor)
        numbers = archive.read(f"archive/data/{key}")
        assert len(numbers) == 4 * count, name
        yield f"{name} {list(tensor.shape)}\n", numbers


def constant(source, name):
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id == name:
            return ast.literal_eval(statement.value)


def main():
    stem = pathlib.Path(sys.argv[1]) / "model"
    names, numbers = zip(*read(stem.with_suffix(".pt")))
    stem.with_suffix(".names").write_text("".join(names))
    stem.with_suffix(".floats").write_bytes(b"".join(numbers))
    classes = constant(stem.with_suffix(".py").read_bytes(), "CLASSES")
    stem.with_suffix(".classes").write_bytes("\n".join(classes).encode())


main()

"""A search whose networks PyTorch trains, where that is installed."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "experiments/tuning"


def write_images(folder, count=300):
    """Writes images of noise, 28 x 28, whose brightness says the class."""
    labels = torch.arange(count) % 10
    images = (torch.rand(count, 28, 28, generator=torch.Generator().manual_seed(1)) * 50 + labels[:, None, None] * 20).byte()
    header = struct.pack(">I", 0x801) + struct.pack(">I", count)
    (folder / "train-labels-idx1-ubyte").write_bytes(header + bytes(labels.tolist()))
    header = struct.pack(">IIII", 0x803, count, 28, 28)
    (folder / "train-images-idx3-ubyte").write_bytes(header + images.numpy().tobytes())


@unittest.skipUnless(torch and os.environ.get("DETOL"), "PyTorch is not installed, or DETOL names no program")
class TrainedByPyTorch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.storage = str(self.folder / "detol.db")
        write_images(self.folder)

    def detol(self, *words):
        done = subprocess.run([os.environ["DETOL"], "--storage", self.storage, *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_its_parameters_are_those_that_detol_counts(self):
        run = [sys.executable, str(EXAMPLE / "train_network.py"), "{network.py}", "--data", str(self.folder),
               "--epochs", "{budget.epochs}", "--lr", "{lr}"]
        self.detol("tune", "--space", str(EXAMPLE / "train_network.yaml"), "--set", "command.run=" + json.dumps(run),
                   "--set", "command.steps=1", "--algorithm", "random", "--budget", "3trials", "-q")
        trials = json.loads(self.detol("query", "-f", "json",
                                       "SELECT state, params, values_json FROM v_trials WHERE epochs > 0"))
        self.assertEqual(len(trials), 3)
        for trial in trials:
            self.assertEqual(trial["state"], "COMPLETE")
            values = json.loads(trial["values_json"])
            self.assertEqual(values["torch_params"], trial["params"])
            self.assertEqual(values["params"], trial["params"])
            self.assertGreaterEqual(values["val_accuracy"], 0)


if __name__ == "__main__":
    unittest.main()

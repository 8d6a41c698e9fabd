"""What the tests of searches have in common."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

import detol


@unittest.skipUnless(os.environ.get("DETOL"), "DETOL names no program")
class StorageTest(unittest.TestCase):
    """A test with a database of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.storage = os.path.join(folder.name, "detol.db")
        self.space = {"x": detol.Float(-5, 5)}

    def states(self, study):
        out = subprocess.run(
            [os.environ["DETOL"], "query", "-f", "json", "--storage", self.storage,
             f"SELECT trial, state, reason FROM v_trials WHERE study = '{study}' ORDER BY trial"],
            capture_output=True, check=True)
        return {row["trial"]: (row["state"], row["reason"]) for row in json.loads(out.stdout)}

    def python(self, code, **options):
        """Starts a program that has the storage as its argument."""
        return subprocess.Popen([sys.executable, "-c", code, self.storage], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)


@contextlib.contextmanager
def said():
    """What is said on stderr meanwhile."""
    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        yield stderr

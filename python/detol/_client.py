"""The line to a study: `detol ask --serve`, which answers a line of JSON for each that it gets."""

import json
import math
import subprocess
import threading
from typing import Any, Dict, List, Sequence

from ._program import find_program


class DetolError(RuntimeError):
    """What detol could not do, in one sentence."""


def program() -> str:
    """The path of the detol program: $DETOL, the one that came with this package, or the one on PATH."""
    found = find_program()
    if not found:
        raise DetolError("there is no detol on PATH; set the variable DETOL to the program")
    return found


def plain(value: Any) -> Any:
    """The value as JSON can hold it: numbers of NumPy become Python's, NaN its word."""
    if isinstance(value, (str, bool)) or value is None:
        return value
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "item"):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (int, float)):
        return value
    return plain(float(value))


class Client:
    """A process that asks and tells for this one. Thread-safe; a call waits for the calls before it."""

    def __init__(self, arguments: Sequence[str]):
        self._lock = threading.Lock()
        self._process = subprocess.Popen([program(), "ask", *arguments, "--serve"],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True, bufsize=1)
        self._errors: List[str] = []
        self._reader = threading.Thread(target=self._keep_errors, daemon=True)
        self._reader.start()

    def _keep_errors(self) -> None:
        for line in self._process.stderr:
            self._errors = self._errors[-20:] + [line.rstrip("\n")]

    def call(self, **request: Any) -> Dict[str, Any]:
        """The answer to a call (scheduler/asking/ask_lines.h lists them).

        Raises:
            DetolError: it cannot be done, or the process has ended.
        """
        line = json.dumps(plain(request)) + "\n"
        with self._lock:
            try:
                self._process.stdin.write(line)
                self._process.stdin.flush()
                answer = self._process.stdout.readline()
            except (BrokenPipeError, ValueError):
                answer = ""
        if not answer:
            self._process.wait()
            self._reader.join()
            said = [line[len("detol: "):] for line in self._errors if line.startswith("detol: ")]
            raise DetolError(said[-1] if said else "detol has ended: " + " ".join(self._errors[-1:]))
        found = json.loads(answer)
        if "error" in found:
            raise DetolError(found["error"])
        return found

    def close(self) -> None:
        """Ends the process; trials that were not told wait for whoever asks next."""
        with self._lock:
            try:
                self._process.stdin.close()
            except BrokenPipeError:  # it was killed
                pass
            self._process.wait()
            self._process.stdout.close()
        self._reader.join()
        self._process.stderr.close()

"""The line to a study: `detol ask --serve`, which answers a line of JSON for each that it gets."""

import json
import math
import os
import subprocess
import threading
import weakref
from typing import IO, Any, Dict, List, Sequence

from ._program import find_program
from ._words import in_python, say


class DetolError(RuntimeError):
    """What detol could not do, in one sentence."""


def program() -> str:
    """The path of the detol program: $DETOL, the one that came with this package, or the one on PATH."""
    found = find_program()
    if not found:
        raise DetolError("there is no detol on PATH; set the variable DETOL to the program")
    return found


def plain(value: Any) -> Any:
    """The value as JSON can hold it: numbers of NumPy become Python's, NaN its word, and what is no
    UTF-8 in a text, as in the name of a file, the escapes that Python writes for it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "item"):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (int, float)):
        return value
    return plain(float(value))


def _start(words: Sequence[str], **pipes: Any) -> "subprocess.Popen[str]":
    path = program()
    try:
        return subprocess.Popen([path, *words], encoding="utf-8", errors="backslashreplace", **pipes)
    except OSError as error:
        raise DetolError(f"cannot run {path}: {error.strerror}") from None


def run(words: Sequence[str]) -> None:
    """Runs a command of the program to its end. Raises DetolError."""
    process = _start(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.PIPE)
    lines = process.communicate()[1].splitlines()
    if process.returncode != 0:
        said = [line[len("detol: "):] for line in lines if line.startswith("detol: ")]
        raise DetolError(in_python(said[-1] if said else f"detol {words[0]} failed"))


def _keep_errors(stream: IO[str], kept: List[str]) -> None:
    """Keeps the last lines of the program, and shows those that are no reason of its end."""
    for line in stream:
        line = line.rstrip("\n")
        kept.append(line)
        del kept[:-20]
        if not line.startswith("detol: "):
            say(in_python(line))


_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()


def _leave_to_the_parent() -> None:
    for client in list(_clients):
        client._leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)


class Client:
    """A process that asks and tells for this one. Thread-safe; a call waits for the calls before it.

    After a fork the parent keeps the process, and the child starts one of its own with its first
    call, by the arguments `again`.
    """

    def __init__(self, arguments: Sequence[str], *, again: Sequence[str], quiet: bool = False):
        self.again = list(again)
        self._quiet = quiet
        self._calls = 0
        self._lost: List[Dict[str, Any]] = []  # trials of calls that were interrupted
        self._is_closed = False
        self._process: Any = None  # of Popen; None in a forked process until it calls, and once closed
        self._lock = threading.Lock()
        self._begin(arguments)
        _clients.add(self)

    def _begin(self, arguments: Sequence[str]) -> None:
        words = (["-q"] if self._quiet else []) + ["ask", *arguments, "--serve"]
        self._process = _start(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, bufsize=1)
        self._errors: List[str] = []
        self._reader = threading.Thread(target=_keep_errors, daemon=True,
                                        args=(self._process.stderr, self._errors))
        self._reader.start()

    def _leave(self) -> None:
        """In a forked process: lets go of the parent's pipes, which else would never end."""
        self._lock = threading.Lock()  # a thread of the parent may have held it
        if self._process is None:
            return
        nowhere = os.open(os.devnull, os.O_RDWR)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None and not pipe.closed:
                os.dup2(nowhere, pipe.fileno())
        os.close(nowhere)
        self._process.returncode = 0  # it is not this process's to wait for
        self._process = None
        self._lost = []

    def call(self, **request: Any) -> Dict[str, Any]:
        """The answer to a call (scheduler/asking/ask_lines.h lists them).

        Raises:
            DetolError: it cannot be done, or the process has ended.
        """
        with self._lock:
            if self._is_closed:
                raise DetolError("the study is closed")
            if self._process is None:
                self._begin(self.again)
            found = self._exchange(request)
            while self._lost:
                trial = self._lost.pop()
                self._exchange({"tell": trial["trial"], "attempt": trial.get("attempt", 0),
                                "released": True})
        if "error" in found:
            raise DetolError(found["error"])
        return found

    def _exchange(self, request: Dict[str, Any]) -> Dict[str, Any]:
        # By its number an answer is known from one to a call that KeyboardInterrupt has left.
        self._calls += 1
        line = json.dumps({"id": self._calls, **plain(request)}) + "\n"
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
            while answer:
                found = json.loads(answer)
                if found.get("id", self._calls) == self._calls:
                    return found
                self._lost += [one for one in found.get("trials", []) if "state" not in one]
                answer = self._process.stdout.readline()
        except (BrokenPipeError, ValueError):
            pass
        raise DetolError(self._why_it_ended())

    def _why_it_ended(self) -> str:
        self._process.wait()
        self._reader.join()
        said = [line[len("detol: "):] for line in self._errors if line.startswith("detol: ")]
        if said:
            return said[-1]
        if self._process.returncode < 0:
            return f"the program detol was ended by signal {-self._process.returncode}"
        return f"the program detol has ended with exit code {self._process.returncode}"

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        """Ends the process; trials that were not told wait for whoever asks next."""
        with self._lock:
            process, self._process = self._process, None
            self._is_closed = True
            if process is None:
                return
            try:
                process.stdin.close()
            except BrokenPipeError:  # it was killed
                pass
            process.wait()
            process.stdout.close()
            self._reader.join()
            process.stderr.close()

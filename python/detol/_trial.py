"""The trial of a program that `detol tune` runs."""

import json
import numbers
import os
import pathlib
import signal
import sys
import threading
from typing import Any, Dict, Mapping, Optional

_STOP_SIGNALS = ("SIGTERM",)


class Trial:
    """One run of a program with one choice of its parameters.

    Attributes:
        params: the value of every active parameter, by its name.
        id: the trial's number in its study; 0 where no search runs the program.
        study: the study's name; empty where no search runs the program.
        seed: for everything random; below 2**31.
        steps: the step of a whole trial (`--steps`); None if none was said.
        folder: a folder of the trial's own, which later attempts find again.
        checkpoint: a path in it, at which the program may keep a file or a folder to go on from.
    """

    def __init__(self, environment: Mapping[str, str], params: Mapping[str, Any]):
        report = environment.get("DETOL_REPORT")
        steps = environment.get("DETOL_BUDGET_EPOCHS", "")
        self.params: Dict[str, Any] = dict(params)
        self.params.update(json.loads(environment.get("DETOL_PARAMS", "{}")))
        self.id = int(environment.get("DETOL_TRIAL", "0"))
        self.study = environment.get("DETOL_STUDY", "") if report else ""
        self.seed = int(environment.get("DETOL_SEED", "0")) if report else 0
        self.steps: Optional[int] = int(steps) if steps else None
        self.folder = pathlib.Path(environment.get("DETOL_TRIAL_DIR", "."))
        self.checkpoint = pathlib.Path(environment.get("DETOL_CHECKPOINT", "checkpoint"))
        self._report = pathlib.Path(report) if report else None
        self._stop = threading.Event()

    @property
    def is_searched(self) -> bool:
        """Whether a search runs the program."""
        return self._report is not None

    def report(self, step: Optional[int] = None, **metrics: float) -> None:
        """Reports the metrics of a step; without a step, of the one after the last report.

        Steps rise, from 0 or 1. A report counts once it has the metrics of all objectives. Where no
        search runs the program, the report is printed.

        Raises:
            TypeError: a metric is no number.
        """
        line: Dict[str, Any] = {} if step is None else {"step": int(step)}
        for name, value in metrics.items():
            line[name] = _number(name, value)
        text = json.dumps(line)
        if self._report is None:
            print(text, file=sys.stderr)
            return
        # One write of a whole line: nothing else can come between its bytes.
        with open(self._report, "ab", buffering=0) as file:
            file.write(text.encode() + b"\n")

    def should_stop(self) -> bool:
        """Whether the search asked the program to stop: time for a last checkpoint, then exit."""
        return self._stop.is_set()

    def _watch_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread may; the signal then ends the program at once
        for name in _STOP_SIGNALS:
            signal.signal(getattr(signal, name), lambda *_: self._stop.set())


def _number(name: str, value: Any) -> Any:
    if hasattr(value, "item"):  # a number of NumPy, or a tensor of one number
        value = value.item()
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    raise TypeError(f"the metric {name} is {value!r}; it must be a number")


def trial(defaults: Optional[Mapping[str, Any]] = None, *, watch_signals: bool = True) -> Trial:
    """Returns the trial that this program runs.

    Args:
        defaults: parameters where no search runs the program, and of those that the search leaves
            out because a condition makes them inactive.
        watch_signals: whether SIGTERM sets should_stop() instead of ending the program, where a
            search runs it.
    """
    made = Trial(os.environ, defaults or {})
    if watch_signals and made.is_searched:
        made._watch_signals()
    return made

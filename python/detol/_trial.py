"""The trial of a program that `detol tune` runs."""

import json
import os
import pathlib
import signal
import sys
import threading
from typing import Any, Dict, Mapping, Optional

from ._asked import NumberedTrial, warn_of_steps
from ._values import ValueOfTrialError, number_of, step_of, values_and_step
from ._words import short

_STOP_SIGNALS = ("SIGTERM",)


class Trial(NumberedTrial):
    """One run of a program with one choice of its parameters.

    Attributes:
        params: the value of every active parameter, by its name.
        number: the trial's number in its study, also `id`; 0 where no search runs the program.
        study: the study's name; empty where no search runs the program.
        seed: for everything random; below 2**31.
        steps_total: the step of a whole trial (`--steps`); None if none was said.
        steps_done: the last step that earlier attempts have reported.
        folder: a folder of the trial's own, which later attempts find again.
        checkpoint: a path in it, at which the program may keep a file or a folder to go on from.
    """

    def __init__(self, environment: Mapping[str, str], params: Mapping[str, Any]):
        report = environment.get("DETOL_REPORT")
        steps = environment.get("DETOL_BUDGET_EPOCHS", "")
        self.params = dict(params)
        self.params.update(json.loads(environment.get("DETOL_PARAMS", "{}")))
        self.number = int(environment.get("DETOL_TRIAL", "0"))
        self.study = environment.get("DETOL_STUDY", "") if report else ""
        self.seed = int(environment.get("DETOL_SEED", "0")) if report else 0
        self.steps_total: Optional[int] = int(steps) if steps else None
        self.folder = pathlib.Path(environment.get("DETOL_TRIAL_DIR", "."))
        self.checkpoint = pathlib.Path(environment.get("DETOL_CHECKPOINT", "checkpoint"))
        self._report = pathlib.Path(report) if report else None
        self.steps_done = _last_step(self._report) if self._report else 0
        self._stop = threading.Event()

    @property
    def steps(self) -> Optional[int]:
        """The older name of steps_total."""
        warn_of_steps("steps_total", "steps_done")
        return self.steps_total

    @property
    def is_searched(self) -> bool:
        """Whether a search runs the program."""
        return self._report is not None

    def report(self, value: Any = None, step: Any = None, /, **metrics: Any) -> bool:
        """Reports the metrics of a step; without a step, of the one after the last report. Returns
        should_stop().

        `report(3, loss=0.5)`, `report(step=3, loss=0.5)` and, as in a function that is searched for,
        `report({"loss": 0.5}, step=3)`.

        Steps rise, from 0 or 1. A report counts once it has the metrics of all objectives. Where no
        search runs the program, the report is printed.

        Raises:
            TypeError: a metric is no number, or has no name, or the step is not whole.
        """
        values, step = values_and_step(value, step, metrics)
        if values is not None and not isinstance(values, Mapping):
            raise ValueOfTrialError(f"report({short(values)}): a program of `detol tune` names its "
                                    "metrics: report(step, loss=value) or report({\"loss\": value}, "
                                    "step)")
        if not values:
            raise ValueOfTrialError("there is no metric; write report(step, loss=value)")
        line: Dict[str, Any] = {} if step is None else {"step": step_of(step)}
        for name, one in values.items():
            line[str(name)] = _number(name, one)
        text = json.dumps(line)
        if self._report is None:
            print(text, file=sys.stderr)
            return self.should_stop()
        # One write of a whole line: nothing else can come between its bytes.
        with open(self._report, "ab", buffering=0) as file:
            file.write(text.encode() + b"\n")
        return self.should_stop()

    def should_stop(self) -> bool:
        """Whether the search asked the program to stop: time for a last checkpoint, then exit."""
        return self._stop.is_set()

    should_prune = should_stop

    def _watch_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread may; the signal then ends the program at once
        for name in _STOP_SIGNALS:
            signal.signal(getattr(signal, name), lambda *_: self._stop.set())


def _number(name: str, value: Any) -> Any:
    number = number_of(f"the metric {name}", value)
    whole = getattr(value, "__index__", None)
    return whole() if whole is not None else number


def _last_step(report: pathlib.Path) -> int:
    """The last step in a file of reports; 0 if there is none."""
    last = 0
    try:
        lines = report.read_text(errors="replace").splitlines()
    except OSError:
        return 0
    for text in lines:
        try:
            line = json.loads(text)
            last = max(last, int(line.get("step", line.get("epoch", last + 1))))
        except (AttributeError, TypeError, ValueError):  # no report, and detol takes it for none
            pass
    return last


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

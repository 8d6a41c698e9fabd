"""The loop of Study.optimize(): threads that ask, evaluate and tell."""

import contextlib
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, Type

from ._asked import AskedTrial, Pruned
from ._client import DetolError
from ._values import Value, values_of
from ._words import say

if TYPE_CHECKING:
    from ._study import Study

PROGRESS_EVERY_S = 30.0


def _text_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _place_of(error: BaseException) -> str:
    """Where the function raised: " (train.py:12)"."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is this file's
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


class Search:
    """One call of optimize(). What ended it in a thread is raised by run()."""

    def __init__(self, study: "Study", function: Callable[[AskedTrial], Value],
                 catch: Tuple[Type[BaseException], ...]):
        self._study = study
        self._function = function
        self._catch = catch
        self._stop = threading.Event()
        self._lock = threading.Lock()  # of what follows
        self._error: Optional[BaseException] = None
        self._said_s = time.monotonic()
        self.evaluated = 0
        self.failed = 0
        self.last_failure = ""
        self.last_error: Optional[BaseException] = None

    def run(self, jobs: int) -> None:
        if jobs == 1:
            return self._evaluate()
        # Daemons: a second Ctrl-C must not wait for evaluations that take hours.
        threads = [threading.Thread(target=self._evaluate_in_thread, daemon=True)
                   for _ in range(jobs)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException:
            self._end()
            for thread in threads:
                if thread.is_alive():
                    thread.join()
            raise
        if self._error is not None:
            raise self._error

    def _end(self) -> None:
        self._stop.set()
        self._study.wake()

    def _evaluate_in_thread(self) -> None:
        try:
            self._evaluate()
        except BaseException as error:
            with self._lock:
                self._error = self._error or error
            self._end()

    def _evaluate(self) -> None:
        told: Dict[str, Any] = {}  # goes with the next ask: both are durable in one commit
        while True:
            tells = self._study.tells
            is_last = self._stop.is_set()
            if is_last and not told:
                return
            trials, none = self._call(told, asks=not is_last)
            told = {}
            if trials and self._stop.is_set():
                return self._release(trials[0])
            if trials:
                told = self._outcome(trials[0])
            elif is_last or none:
                return
            else:
                self._study.wait_for_tells(tells)

    def _call(self, told: Dict[str, Any], asks: bool) -> Tuple[List[AskedTrial], Optional[str]]:
        """Tells, and asks for the next trial; without one, whether there are none any more."""
        answer = self._study.call(**told, **({"ask": 1} if asks else {}))
        if told:
            self._count(told, answer)
            self._study.wake(has_told=True)
        trials = [AskedTrial(self._study, one) for one in answer.get("trials", [])]
        if "tell_error" in answer:
            for trial in trials:
                self._release(trial)
            error = DetolError(f"trial {told['tell']}: {answer['tell_error']}")
            self._study.call(tell=told["tell"], attempt=told["attempt"], failed=str(error))
            if not isinstance(error, self._catch) and "pruned" not in told:
                raise error
            self._fail(told["tell"], answer["tell_error"], error)
            return [], None
        return trials, answer.get("none")

    def _count(self, told: Dict[str, Any], answer: Dict[str, Any]) -> None:
        with self._lock:
            self.evaluated += 1
        if answer.get("ignored"):
            self._study.say_ignored(told["tell"], answer)
        if answer.get("state") == "FAIL" and "failed" not in told:
            self._fail(told["tell"], f"its value is {told.get('values')}, which is no number", None)
        self._show_progress()

    def _outcome(self, trial: AskedTrial) -> Dict[str, Any]:
        """Evaluates the trial; returns what to tell. What ends the search is raised, and told."""
        told: Dict[str, Any] = {"tell": trial.number, "attempt": trial.attempt}
        try:
            told["values"] = values_of(self._function(trial))
        except Pruned:
            told["pruned"] = True
        except Exception as error:
            told["failed"] = _text_of(error)
            if isinstance(error, self._catch):
                self._fail(trial.number, _text_of(error) + _place_of(error), error)
                return told
            with contextlib.suppress(DetolError):
                self._study.call(**told)
            raise
        except BaseException:  # KeyboardInterrupt, SystemExit: no fault of the trial
            self._release(trial)
            raise
        if trial.should_stop():  # its reports have ended it: what is told now does not count
            self._count(told, {})
            return {}
        return told

    def _release(self, trial: AskedTrial) -> None:
        with contextlib.suppress(DetolError):
            self._study.call(tell=trial.number, attempt=trial.attempt, released=True)

    def _fail(self, number: int, why: str, error: Optional[BaseException]) -> None:
        with self._lock:
            self.failed += 1
            self.last_failure = why
            self.last_error = error
        say(f"trial {number} failed: {why}")

    def _show_progress(self) -> None:
        if self._study.quiet:
            return
        with self._lock:
            now_s = time.monotonic()
            if now_s - self._said_s < PROGRESS_EVERY_S:
                return
            self._said_s = now_s
        best = self._study.best
        so_far = f"best {best.value:.6g} (trial {best.number})" if best else "none has a value"
        say(f"study '{self._study.name}': {self.evaluated} trials evaluated, {self.failed} failed, "
            f"{so_far}")

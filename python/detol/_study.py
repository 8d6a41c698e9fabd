"""Searches for a function or a loop in this program, kept in a database and resumable."""

import json
import os
import pathlib
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from detol._client import Client, DetolError
from detol._space import Space, parameters_of

Value = Union[float, Sequence[float], Mapping[str, float]]


class Pruned(Exception):
    """Raised by a function to end its trial, which is worth what it reported."""


class AskedTrial:
    """A trial to evaluate.

    Attributes:
        number: the trial's number in its study.
        params: the value of every active parameter, by its name.
        seed: for everything random; below 2**31.
        steps: steps that earlier attempts of the trial have reported.
        folder: a folder of the trial's own; it may not exist.
        architecture: the layers of its network, where the study has an architecture; else None.
        state: None, or, for a candidate that needs no evaluation, how its trial ended.
    """

    def __init__(self, study: "Study", answer: Mapping[str, Any]):
        self.number: int = answer["trial"]
        self.params: Dict[str, Any] = answer["params"]
        self.attempt: int = answer.get("attempt", 0)
        self.seed: int = answer.get("seed", 0)
        self.steps: int = answer.get("steps", 0)
        self.folder = pathlib.Path(answer.get("folder", "."))
        self.architecture: Optional[List[Dict[str, Any]]] = answer.get("architecture")
        self.state: Optional[str] = answer.get("state")
        self._study = study
        self._should_stop = False

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    def __contains__(self, name: str) -> bool:
        return name in self.params

    def suggest_float(self, name: str, low: float, high: float, *, step: Optional[float] = None,
                      log: bool = False) -> float:
        """The trial's value. The range is the space's; one that differs is an error."""
        return float(self._declared(name, type="float", low=low, high=high, step=step, log=log))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """As suggest_float."""
        return int(self._declared(name, type="int", low=low, high=high,
                                  step=step if step != 1 else None, log=log))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """As suggest_float."""
        declared = self._study.parameters.get(name, {})
        if declared.get("type") == "bool":
            return self.params[name]
        return self._declared(name, type="categorical", choices=list(choices))

    def _declared(self, name: str, **expected: Any) -> Any:
        declared = self._study.parameters.get(name)
        if declared is None:
            raise DetolError(f"the space has no parameter {name}")
        for key, value in expected.items():
            if (value or None) != (declared.get(key) or None):
                raise DetolError(f"{name} has {key} {declared.get(key)} in the space, here {value}")
        if name not in self.params:
            raise DetolError(f"{name} is not active in this trial: {declared.get('when')}")
        return self.params[name]

    def report(self, value: Value, step: int = 0) -> bool:
        """Reports the value after a step, 1 or more; 0: the one after the last. Durable when it
        returns. Returns should_stop()."""
        if not self._should_stop:
            self._should_stop = self._study.call(report=self.number, attempt=self.attempt,
                                                 step=step, values=value)["stop"]
        return self._should_stop

    def should_stop(self) -> bool:
        """Whether the trial has ended: the pruner stopped it, or it has all its steps."""
        return self._should_stop

    should_prune = should_stop

    @property
    def checkpoint(self) -> pathlib.Path:
        """A path in the trial's folder, which this makes: the same in every attempt."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / "checkpoint"


class Best:
    """The best trial: its `number`, `params`, `values` by objective, and `value`, the first one."""

    def __init__(self, answer: Mapping[str, Any]):
        self.number: int = answer["trial"]
        self.params: Dict[str, Any] = answer["params"]
        self.values: Dict[str, float] = {name: float(v) for name, v in answer["values"].items()}

    @property
    def value(self) -> float:
        return next(iter(self.values.values()))

    def __repr__(self) -> str:
        return f"Best(number={self.number}, values={self.values}, params={self.params})"


class Study:
    """A study that this program asks for trials. Thread-safe. Several programs may ask one study."""

    def __init__(self, client: Client, parameters: Mapping[str, Any]):
        self.parameters = dict(parameters)
        self._client = client
        try:
            answer = client.call(study=True)
        except BaseException:
            client.close()
            raise
        self.name: str = answer["study"]
        self.objectives: List[str] = answer["objectives"]
        self._told = threading.Condition()
        self._tells = 0

    def call(self, **request: Any) -> Dict[str, Any]:
        """A call of the protocol. Raises DetolError."""
        return self._client.call(**request)

    def ask(self, count: Optional[int] = None, *, params: Optional[Mapping[str, Any]] = None) -> Any:
        """A trial, or a list of at most `count`: the searcher may need values of these first.
        `params`: a trial of this candidate. Durable when it returns.

        Raises:
            DetolError: there are no more, with the reason.
        """
        request: Dict[str, Any] = {"ask": count or 1}
        if params is not None:
            request["params"] = dict(params)
        answer = self.call(**request)
        trials = [AskedTrial(self, one) for one in answer["trials"]]
        if not trials and "none" in answer:
            raise NoMoreTrials(answer["none"])
        if count is None and not trials:
            raise DetolError("the searcher waits for values of trials that were asked for")
        return trials if count is not None else trials[0]

    def tell(self, trial: AskedTrial, value: Optional[Value] = None, *,
             failed: Optional[str] = None, pruned: bool = False) -> str:
        """Records what a trial is worth: a number, a list in the order of the objectives, or a
        mapping by metric; or why it failed; or that it was stopped early. Durable when it returns.
        Returns the trial's state; one that has ended stays as it is."""
        request: Dict[str, Any] = {"tell": trial.number, "attempt": trial.attempt}
        if failed is not None:
            request["failed"] = failed
        elif pruned:
            request["pruned"] = True
        else:
            request["values"] = value
        state = self.call(**request)["state"]
        self._notify()
        return state

    def tell_all(self, values: Iterable[Tuple[AskedTrial, Value]]) -> List[str]:
        """Records many values at once, much faster than one by one."""
        told = [{"trial": trial.number, "attempt": trial.attempt, "values": value}
                for trial, value in values]
        answers = self.call(tell=told)["told"]
        self._notify()
        for answer in answers:
            if "error" in answer:
                raise DetolError(answer["error"])
        return [answer["state"] for answer in answers]

    def _notify(self) -> None:
        with self._told:
            self._tells += 1
            self._told.notify_all()

    def optimize(self, function: Callable[[AskedTrial], Value], jobs: int = 1) -> None:
        """Evaluates the function, in `jobs` threads, until the budget is used up. An exception of
        the function fails its trial, a Pruned ends it, KeyboardInterrupt ends the search."""
        if jobs == 1:
            return self._evaluate(function)
        with ThreadPoolExecutor(jobs) as pool:
            for done in [pool.submit(self._evaluate, function) for _ in range(jobs)]:
                done.result()

    def _evaluate(self, function: Callable[[AskedTrial], Value]) -> None:
        told: Dict[str, Any] = {}  # goes with the next ask: both are durable in one commit
        while True:
            tells = self._tells
            answer = self.call(ask=1, **told)
            if "tell_error" in answer:  # no number, or pruned before it has reported
                self.call(tell=told["tell"], attempt=told["attempt"], failed=answer["tell_error"])
            if told:
                self._notify()
            told = {}
            if not answer["trials"]:
                if "none" in answer:
                    return
                with self._told:
                    self._told.wait_for(lambda: self._tells != tells, timeout=1)
                continue
            trial = AskedTrial(self, answer["trials"][0])
            told = {"tell": trial.number, "attempt": trial.attempt}
            try:
                told["values"] = function(trial)
            except Pruned:
                told["pruned"] = True
            except Exception as error:  # the trial's fault, not the search's
                told["failed"] = f"{type(error).__name__}: {error}"

    @property
    def best(self) -> Optional[Best]:
        """The best trial by the first objective; None if no trial has a value."""
        answer = self.call(best=True)["best"]
        return Best(answer) if answer else None

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class NoMoreTrials(DetolError):
    """The budget is used up, or the searcher has nothing more to propose."""


def open_study(name: str = "study", space: Optional[Space] = None, *,
               storage: Union[str, os.PathLike] = "detol.db",
               objectives: Optional[Mapping[str, str]] = None, trials: Optional[int] = None,
               budget: Optional[str] = None, algorithm: Union[str, Mapping[str, Any]] = "portfolio",
               pruner: Union[str, Mapping[str, Any]] = "none", steps: Optional[int] = None,
               seed: int = 0, warm_start: bool = True,
               initial_trials: Sequence[Mapping[str, Any]] = (),
               architecture: Optional[Mapping[str, Any]] = None,
               input: Sequence[int] = (), outputs: int = 1) -> Study:
    """Opens the study of that name, or with a space or an architecture begins it.

    Args:
        objectives: the metrics and their directions, {"loss": "minimize"}; the default is
            {"value": "minimize"}.
        trials: the study's total, over all its runs; `budget` may say more ("2h,200trials").
        steps: the number of reports of a whole trial, which most pruners must know.
        warm_start: begin with what studies of the same database with the same choices learned.
        architecture: as in a space file; the trials then have networks, which read `input`
            ([channels, height, width]) and have so many outputs.

    Raises:
        DetolError: what is wrong with the space or the study.
    """
    limits = ",".join(([f"{trials}trials"] if trials is not None else []) + ([budget] if budget else []))
    arguments = [name, "--storage", os.fspath(storage)]
    if limits:
        arguments += ["--budget", limits]
    if space is None and architecture is None:
        return Study(Client(arguments), {})
    parameters = parameters_of(space or {})
    external: Dict[str, Any] = {"steps": steps} if steps else {}
    if architecture is not None:
        external.update(input=list(input), outputs=outputs)
    search: Dict[str, Any] = {"algorithm": algorithm, "pruner": pruner}
    if not warm_start:
        search["warm_start"] = "none"
    if initial_trials:
        search["initial_trials"] = [dict(one) for one in initial_trials]
    file_of_space = {
        "version": 1, "study": name, "seed": seed, "external": external, "search": search,
        "objectives": [{"metric": metric, "direction": direction}
                       for metric, direction in (objectives or {"value": "minimize"}).items()]}
    if parameters:
        file_of_space["parameters"] = parameters
    if architecture is not None:
        file_of_space["architecture"] = dict(architecture)
    text = json.dumps(file_of_space)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        # Once the study answers, it has read the file.
        return Study(Client(arguments + ["--space", file.name]), parameters)


def minimize(function: Callable[[AskedTrial], Value], space: Space, trials: Optional[int] = None, *,
             name: str = "study", jobs: int = 1, **options: Any) -> Best:
    """The trial for which the function is least, of `trials` in all or within another `budget`.
    Called again after a crash it goes on; `options` are those of open_study().

    Raises:
        TypeError: neither `trials` nor `budget` is given.
        DetolError: as open_study(); no trial has a value.
    """
    if trials is None and not options.get("budget"):
        raise TypeError("give `trials` or `budget`, or the search has no end")
    options.setdefault("objectives", {"value": "minimize"})
    with open_study(name, space, trials=trials, **options) as study:
        study.optimize(function, jobs)
        best = study.best
    if best is None:
        raise DetolError("no trial has a value")
    return best


def maximize(function: Callable[[AskedTrial], Value], space: Space,
             trials: Optional[int] = None, **options: Any) -> Best:
    """As minimize, for the trial for which the function is greatest."""
    return minimize(function, space, trials, objectives={"value": "maximize"}, **options)

"""A trial of a study that this program asks, and the best of them."""

import pathlib
import warnings
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence

from ._client import DetolError
from ._values import step_of, values_and_step, values_of

if TYPE_CHECKING:
    from ._study import Study


class Pruned(Exception):
    """Raised by a function to end its trial, which is worth what it reported."""


def warn_of_steps(instead: str, other: str) -> None:
    """Says what `steps` means here, as the other kind of trial has another meaning."""
    warnings.warn(f"trial.steps is trial.{instead} here, and trial.{other} in the other kind of "
                  f"program; write trial.{instead}", FutureWarning, stacklevel=3)


class NumberedTrial:
    """What every trial is: a number, and parameters by their names."""
    number: int
    params: Dict[str, Any]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(number={self.number}, params={self.params})"

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    def __contains__(self, name: str) -> bool:
        return name in self.params

    @property
    def id(self) -> int:
        return self.number


class AskedTrial(NumberedTrial):
    """A trial to evaluate. It can be pickled, without its study: whoever has that tells it.

    Attributes:
        number: the trial's number in its study; also `id`.
        params: the value of every active parameter, by its name.
        seed: for everything random; below 2**31.
        steps_done: steps that earlier attempts of the trial have reported.
        steps_total: steps of a whole trial; None if the study was not told.
        folder: a folder of the trial's own; it may not exist.
        architecture: the layers of its network, where the study has an architecture; else None.
        state: None, or, for a candidate that needs no evaluation, how its trial ended.
    """

    def __init__(self, study: "Study", answer: Mapping[str, Any]):
        self.number = answer["trial"]
        self.params = answer["params"]
        self.attempt: int = answer.get("attempt", 0)
        self.seed: int = answer.get("seed", 0)
        self.steps_done: int = answer.get("steps", 0)
        self.steps_total: Optional[int] = study.steps
        self.folder = pathlib.Path(answer.get("folder", "."))
        self.architecture: Optional[List[Dict[str, Any]]] = answer.get("architecture")
        self.state: Optional[str] = answer.get("state")
        self._asked_of: Optional["Study"] = study
        self._study_name = study.name, study.storage
        self._should_stop = False

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_asked_of": None}

    @property
    def steps(self) -> int:
        """The older name of steps_done."""
        warn_of_steps("steps_done", "steps_total")
        return self.steps_done

    @property
    def _study(self) -> "Study":
        if self._asked_of is None:
            raise DetolError(f"trial {self.number} was pickled, which leaves its study behind; "
                             "return the value, and tell it where the study is")
        return self._asked_of

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
        if declared is None and name in self.params and not self._study.parameters:
            return self.params[name]  # the study was opened by its name alone
        if declared is None:
            raise DetolError(f"the space has no parameter {name}")
        for key, value in expected.items():
            if (value or None) != (declared.get(key) or None):
                raise DetolError(f"{name} has {key} {declared.get(key)} in the space, here {value}")
        if name not in self.params:
            raise DetolError(f"{name} is not active in this trial: {declared.get('when')}")
        return self.params[name]

    def report(self, value: Any = None, step: Any = None, /, **metrics: Any) -> bool:
        """Reports the value after a step; without one, after the one behind the last. Steps rise from
        1, or from 0. Durable when it returns. Returns should_stop().

        `report(0.5, 3)`, `report({"loss": 0.5}, step=3)` and, as in a program of `detol tune`,
        `report(3, loss=0.5)` and `report(step=3, loss=0.5)`.

        Raises:
            TypeError: the value is no number, or the step is not whole.
        """
        value, step = values_and_step(value, step, metrics)
        if list(metrics) in (["value"], ["value", "step"], ["step", "value"]) and isinstance(value, dict):
            value = value["value"]  # the argument's older name, not a metric's
        request = {"report": self.number, "attempt": self.attempt, "values": values_of(value)}
        if step is not None:
            request["step"] = step_of(step)
        if not self._should_stop:
            self._should_stop = self._study.call(**request)["stop"]
        return self._should_stop

    def check_study(self, study: "Study") -> None:
        """Raises ValueError if the trial is another study's."""
        if self._study_name != (study.name, study.storage):
            raise ValueError(f"trial {self.number} is of study '{self._study_name[0]}', and this is "
                             f"'{study.name}' of {study.storage}")

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
    """The best trial: its `number`, `params`, `values` by objective, and `value`, the first one;
    `study` is the name of its study."""

    def __init__(self, study: str, answer: Mapping[str, Any]):
        self.study = study
        self.number: int = answer["trial"]
        self.params: Dict[str, Any] = answer["params"]
        self.values: Dict[str, float] = {name: float(v) for name, v in answer["values"].items()}

    @property
    def value(self) -> float:
        return next(iter(self.values.values()))

    def __repr__(self) -> str:
        return (f"Best(study={self.study!r}, number={self.number}, values={self.values}, "
                f"params={self.params})")

"""The choices of a search: what a parameter can be."""

import math
import numbers
import operator
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._client import DetolError
from ._words import short

Scalar = Union[bool, int, float, str]
When = Mapping[str, Union[Scalar, Sequence[Scalar]]]


class SpaceError(DetolError, ValueError):
    """A parameter that cannot be searched."""


def _number(what: str, value: Any) -> float:
    if hasattr(value, "item"):
        value = value.item()
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value):
        raise SpaceError(f"{what} is {short(value)}; it must be a finite number")
    return float(value)


def _whole(what: str, value: Any) -> int:
    number = _number(what, value)
    if number != int(number):
        raise SpaceError(f"{what} is {short(value)}; it must be a whole number")
    return operator.index(value) if hasattr(value, "__index__") else int(number)


def _scalar(what: str, value: Any) -> Scalar:
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise SpaceError(f"{what} {short(value)} is not a text, a number, True or False; search for its "
                     "name or its position")


def _conditions(when: When) -> Dict[str, Any]:
    if not isinstance(when, Mapping):
        raise SpaceError(f'when is {short(when)}; write {{"opt": "sgd"}}')
    return {name: [_scalar("when: the value", one) for one in value]
            if isinstance(value, (list, tuple)) else _scalar("when: the value", value)
            for name, value in when.items()}


class Domain:
    """What one parameter can be; `json()` is its entry in a space file.

    `when={"opt": "sgd"}` makes a parameter that exists only where another has that value, or one of
    several.
    """

    def __init__(self, kind: str, when: Optional[When], **keys: Any):
        self._json: Dict[str, Any] = {"type": kind}
        self._json.update({key: value for key, value in keys.items() if value})
        if when:
            self._json["when"] = _conditions(when)

    def json(self) -> Dict[str, Any]:
        return dict(self._json)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._json})"

    def _take_range(self, low: Union[int, float], high: Union[int, float], log: bool) -> None:
        if low > high:
            raise SpaceError(f"low {low:.12g} is above high {high:.12g}")
        if log and low <= 0:
            raise SpaceError(f"low is {low:.12g}; with log it must be above 0")
        self._json.update(low=low, high=high)


class Float(Domain):
    """A number from `low` to `high`, both included."""

    def __init__(self, low: float, high: float, *, log: bool = False, step: Optional[float] = None,
                 when: Optional[When] = None):
        step = None if step is None else _number("step", step)
        if step is not None and step <= 0:
            raise SpaceError(f"step is {step!r}; it must be above 0")
        super().__init__("float", when, log=bool(log), step=step)
        self._take_range(_number("low", low), _number("high", high), log)


class Int(Domain):
    """A whole number from `low` to `high`, both included."""

    def __init__(self, low: int, high: int, *, log: bool = False, step: int = 1,
                 when: Optional[When] = None):
        step = _whole("step", step)
        if step < 1:
            raise SpaceError(f"step is {step!r}; it must be at least 1")
        super().__init__("int", when, log=bool(log), step=step if step != 1 else None)
        self._take_range(_whole("low", low), _whole("high", high), log)


class Choice(Domain):
    """One of several values, or of one list of them; with `ordered` neighbours are similar."""

    def __init__(self, *choices: Any, ordered: bool = False, when: Optional[When] = None):
        if len(choices) == 1 and isinstance(choices[0], (list, tuple, range)):
            choices = tuple(choices[0])
        super().__init__("categorical", when, ordered=bool(ordered))
        values: List[Scalar] = [_scalar("the choice", one) for one in choices]
        if not values:
            raise SpaceError("there is no choice; write detol.Choice('sgd', 'adam')")
        self._json["choices"] = values


class Bool(Domain):
    """True or False."""

    def __init__(self, *, when: Optional[When] = None):
        super().__init__("bool", when)


Space = Mapping[str, Union[Domain, Mapping[str, Any]]]


def _instead_of(value: Any) -> str:
    """What to write for what is no domain."""
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(
            isinstance(one, numbers.Real) and not isinstance(one, bool) for one in value):
        is_whole = all(isinstance(one, numbers.Integral) for one in value)
        both = f"{value[0]!r}, {value[1]!r}"
        return f"detol.Float({both})" + (f" or detol.Int({both})" if is_whole else "")
    if isinstance(value, (list, tuple)):
        return f"detol.Choice({', '.join(map(repr, value))})"
    return "detol.Float(0, 1), and leave out what is not searched for"


def parameters_of(space: Space) -> Dict[str, Any]:
    """The section `parameters` of a space file; a plain mapping is taken as it is."""
    if not isinstance(space, Mapping):
        raise SpaceError(f'the space is {short(space)}; write {{"x": detol.Float(0, 1)}}')
    parameters: Dict[str, Any] = {}
    for name, domain in space.items():
        if not isinstance(name, str):
            raise SpaceError(f"a parameter is called {short(name)}; its name must be a text")
        if not isinstance(domain, (Domain, Mapping)):
            raise SpaceError(f"{name} is {short(domain)}; write {_instead_of(domain)}")
        parameters[name] = domain.json() if isinstance(domain, Domain) else dict(domain)
    return parameters

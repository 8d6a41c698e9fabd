"""The choices of a search: what a parameter can be."""

from typing import Any, Dict, Mapping, Optional, Sequence, Union

Scalar = Union[bool, int, float, str]
When = Mapping[str, Union[Scalar, Sequence[Scalar]]]


class Domain:
    """What one parameter can be; `json()` is its entry in a space file.

    `when={"opt": "sgd"}` makes a parameter that exists only where another has that value, or one of
    several.
    """

    def __init__(self, kind: str, when: Optional[When], **keys: Any):
        self._json: Dict[str, Any] = {"type": kind}
        self._json.update({key: value for key, value in keys.items() if value})
        if when:
            self._json["when"] = dict(when)

    def json(self) -> Dict[str, Any]:
        return dict(self._json)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._json})"


class Float(Domain):
    """A number from `low` to `high`, both included."""

    def __init__(self, low: float, high: float, *, log: bool = False, step: Optional[float] = None,
                 when: Optional[When] = None):
        super().__init__("float", when, log=log, step=step)
        self._json.update(low=float(low), high=float(high))


class Int(Domain):
    """A whole number from `low` to `high`, both included."""

    def __init__(self, low: int, high: int, *, log: bool = False, step: int = 1,
                 when: Optional[When] = None):
        super().__init__("int", when, log=log, step=step if step != 1 else None)
        self._json.update(low=int(low), high=int(high))


class Choice(Domain):
    """One of several values; with `ordered` neighbours in the list are similar."""

    def __init__(self, *choices: Scalar, ordered: bool = False, when: Optional[When] = None):
        super().__init__("categorical", when, ordered=ordered)
        self._json["choices"] = list(choices)


class Bool(Domain):
    """True or False."""

    def __init__(self, *, when: Optional[When] = None):
        super().__init__("bool", when)


Space = Mapping[str, Union[Domain, Mapping[str, Any]]]


def parameters_of(space: Space) -> Dict[str, Any]:
    """The section `parameters` of a space file; a plain mapping is taken as it is."""
    return {name: domain.json() if isinstance(domain, Domain) else dict(domain)
            for name, domain in space.items()}

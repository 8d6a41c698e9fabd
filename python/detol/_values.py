"""What a trial is worth: the values that a function returns, a tell says or a report has."""

import decimal
import numbers
from typing import Any, Dict, List, Mapping, Sequence, Tuple, Union

from ._client import DetolError
from ._words import short

Value = Union[float, Sequence[float], Mapping[str, float]]


class ValueOfTrialError(DetolError, TypeError):
    """A value that is no number."""


def number_of(what: str, value: Any) -> float:
    """The number, also one of NumPy or a tensor of one. Texts, None, True and False are none."""
    found = value
    if hasattr(found, "item"):
        try:
            found = found.item()
        except (TypeError, ValueError, RuntimeError):
            raise ValueOfTrialError(f"{what} has several numbers: {short(value)}") from None
    if isinstance(found, (numbers.Real, decimal.Decimal)) and not isinstance(found, bool):
        try:
            return float(found)
        except OverflowError:
            raise ValueOfTrialError(f"{what} is too large for a number: {short(value)}") from None
    raise ValueOfTrialError(f"{what} is {short(value)}; it must be a number")


def values_of(value: Any) -> Union[float, List[float], Dict[str, float]]:
    """The values as a call has them. Raises ValueOfTrialError."""
    if isinstance(value, Mapping):
        return {str(name): number_of(f"the value of {name}", one) for name, one in value.items()}
    if getattr(value, "ndim", 0) == 1 and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [number_of(f"value {i}", one) for i, one in enumerate(value)]
    return number_of("the value", value)


def step_of(step: Any) -> int:
    """A step, from 0. Raises ValueOfTrialError."""
    if hasattr(step, "item"):
        step = step.item()
    if isinstance(step, numbers.Integral) and not isinstance(step, bool) and int(step) >= 0:
        return int(step)
    raise ValueOfTrialError(f"the step is {short(step)}; it must be a whole number from 0, as in "
                            "report(value, step) or report(step, loss=value)")


def values_and_step(first: Any, second: Any, named: Mapping[str, Any]) -> Tuple[Any, Any]:
    """The values and the step that report(first, second, **named) means; None is what it lacks:
    report(value, step), report(step, loss=value), or any of these by name."""
    metrics = dict(named)
    step = metrics.pop("step", None)
    if second is not None and step is not None:
        raise ValueOfTrialError("report has its step twice")
    step = second if step is None else step
    if not metrics:
        return first, step
    if first is None:
        return metrics, step
    if step is not None or isinstance(first, Mapping):
        raise ValueOfTrialError(f"report({short(first)}, ...) has values twice; write "
                                "report(step, loss=value)")
    return metrics, first

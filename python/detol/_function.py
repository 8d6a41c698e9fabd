"""Which function a study's values are of: a fingerprint of its code, kept beside the study."""

import contextlib
import dis
import functools
import hashlib
import inspect
import json
import os
import pathlib
import sys
import types
from typing import Any, Callable, List, Optional, Set, Tuple

_SCALARS = (bool, int, float, complex, str, bytes, type(None))
_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"  # the code of another one differs


def check_function(function: Any) -> None:
    """Raises TypeError for what returns no number when it is called."""
    if not callable(function):
        raise TypeError(f"the function is {function!r}; it must be callable")
    called = function.func if isinstance(function, functools.partial) else function
    if inspect.iscoroutinefunction(called):
        raise TypeError("the function is `async def`; make it one that returns "
                        "asyncio.run(...) of that")
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        raise TypeError("the function has `yield`, so that it returns no number; report each step "
                        "by trial.report(value)")


def name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def fingerprint(function: Callable[..., Any]) -> str:
    """A text that differs once the code of the function differs: its own, that of the functions of
    its module that it names, and the plain values that it takes from outside."""
    parts: List[str] = []
    _add(function, parts, set())
    return hashlib.sha256("\n".join(parts).encode(errors="replace")).hexdigest()


def _add(value: Any, parts: List[str], seen: Set[int]) -> None:
    if isinstance(value, _SCALARS):
        parts.append(repr(value))
        return
    if isinstance(value, tuple):
        for one in value:
            _add(one, parts, seen)
        return
    if id(value) in seen:  # functions may name each other
        return
    seen.add(id(value))
    if isinstance(value, frozenset):
        parts += sorted(map(repr, value))
    elif isinstance(value, types.CodeType):
        parts += [value.co_code.hex(), repr(value.co_names)]
        _add(value.co_consts, parts, seen)
    elif isinstance(value, functools.partial):
        for one in (value.func, value.args, *value.keywords.items()):
            _add(one, parts, seen)
    elif isinstance(value, types.MethodType):
        _add(value.__func__, parts, seen)
    elif isinstance(value, types.FunctionType):
        _add_function(value, parts, seen)
    elif hasattr(value, "__wrapped__"):  # by a decorator
        _add(value.__wrapped__, parts, seen)
    elif callable(value) and isinstance(getattr(type(value), "__call__", None), types.FunctionType):
        _add(type(value).__call__, parts, seen)
    else:
        parts.append(type(value).__qualname__)  # data: too large to look at, and often changing


def _add_function(function: types.FunctionType, parts: List[str], seen: Set[int]) -> None:
    _add(function.__code__, parts, seen)
    _add(function.__defaults__ or (), parts, seen)
    for name, value in sorted((function.__kwdefaults__ or {}).items()):
        parts.append(name)
        _add(value, parts, seen)
    read, written = _outer_names(function.__code__)  # what it writes is a counter of its own
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):  # it is empty yet
            if name not in written:
                _add(cell.cell_contents, parts, seen)
    for name in sorted(read - written):
        value = function.__globals__.get(name)
        is_near = getattr(value, "__module__", None) == function.__module__
        if isinstance(value, _SCALARS[:-1]) or (isinstance(value, types.FunctionType) and is_near):
            parts.append(name)
            _add(value, parts, seen)


def _outer_names(code: types.CodeType) -> Tuple[Set[str], Set[str]]:
    """The names from outside that the code reads, and those that it writes."""
    read: Set[str] = set()
    written: Set[str] = set()
    for one in dis.get_instructions(code):
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            read.add(one.argval)
        elif one.opname in ("STORE_GLOBAL", "STORE_DEREF"):
            written.add(one.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner_read, inner_written = _outer_names(constant)
            read |= inner_read
            written |= inner_written
    return read, written


def differs_from_the_last(function: Callable[..., Any], folder: pathlib.Path) -> Optional[bool]:
    """Whether the function is another than the one of the last call for this study's folder; None
    if that is not known. Keeps this one's fingerprint there."""
    file = folder / "function.json"
    last = {}
    with contextlib.suppress(OSError, ValueError):
        last = json.loads(file.read_text())
    now = {"python": _PYTHON, "function": name_of(function), "fingerprint": fingerprint(function)}
    if last != now:
        with contextlib.suppress(OSError):  # the study's own files say that better
            folder.mkdir(parents=True, exist_ok=True)
            fresh = file.with_name(f"function.json.{os.getpid()}")
            fresh.write_text(json.dumps(now) + "\n")
            os.replace(fresh, file)
    if not isinstance(last, dict) or last.get("python") != _PYTHON:
        return None
    return last.get("fingerprint") != now["fingerprint"]

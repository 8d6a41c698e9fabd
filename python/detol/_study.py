"""Searches for a function or a loop in this program, kept in a database."""

import json
import operator
import os
import pathlib
import tempfile
import threading
from typing import (Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type,
                    Union)

from ._asked import AskedTrial, Best, Pruned
from ._client import Client, DetolError, run
from ._function import check_function, differs_from_the_last, name_of
from ._optimize import Search
from ._space import Space, parameters_of
from ._values import Value, values_of
from ._version import __version__
from ._words import in_python, say, short

Catch = Union[Type[BaseException], Tuple[Type[BaseException], ...]]
__all__ = ["AskedTrial", "Best", "NoMoreTrials", "Pruned", "Study", "delete_study", "maximize",
           "minimize", "open_study"]


class Study:
    """A study that this program asks for trials. Thread-safe. Several programs may ask one study.

    A process that was forked from this one, and a copy that was pickled, ask the same study by a
    program of their own.

    Attributes:
        name: its name in the database `storage`.
        objectives: its metrics.
        steps: the number of reports of a whole trial; None if it was not told.
        finished: trials that had ended when it was opened.
    """

    def __init__(self, client: Client, parameters: Mapping[str, Any], storage: str,
                 quiet: bool = False):
        self.parameters = dict(parameters)
        self.quiet = quiet
        self.storage = os.path.realpath(storage)
        self._client = client
        try:
            answer = client.call(study=True)
        except BaseException:
            client.close()
            raise
        self.name: str = answer["study"]
        self.objectives: List[str] = answer["objectives"]
        self.steps: Optional[int] = answer.get("steps") or None
        self.finished: int = answer.get("finished", answer["trials"])
        self._trials: int = answer["trials"]
        self._pid = os.getpid()
        self._told = threading.Condition()
        self.tells = 0
        client.again = [self.name, "--storage", self.storage]
        if answer.get("version", "older") != __version__:
            say(f"the program is of version {answer.get('version', 'older')}, and this package of "
                f"{__version__}")

    def __reduce__(self) -> Any:
        return _reopened, (self.name, self.parameters, self.storage, self.quiet)

    def __repr__(self) -> str:
        closed = ", closed" if self._client.is_closed else ""
        return f"Study({self.name!r}, storage={self.storage!r}, objectives={self.objectives}{closed})"

    def call(self, **request: Any) -> Dict[str, Any]:
        """A call of the protocol. Raises DetolError."""
        return self._client.call(**request)

    def ask(self, count: Optional[int] = None, *, params: Optional[Mapping[str, Any]] = None) -> Any:
        """A trial, or a list of at most `count`: the searcher may need values of these first.
        `params`: a trial of this candidate. Durable when it returns.

        Raises:
            DetolError: there are no more, with the reason.
        """
        if count is not None and operator.index(count) < 1:
            raise ValueError(f"count is {count}; it must be at least 1")
        if count is not None and params is not None:
            raise ValueError("with params there is one trial; leave out count")
        request: Dict[str, Any] = {"ask": 1 if count is None else operator.index(count)}
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
        Returns the trial's state; one that has ended stays as it is, which is said on stderr.

        Raises:
            DetolError: the value is no number (a TypeError, too), a metric is missing, ...
        """
        trial.check_study(self)
        if (value is not None) + (failed is not None) + bool(pruned) > 1:
            raise ValueError("tell one of a value, failed and pruned")
        request: Dict[str, Any] = {"tell": trial.number, "attempt": trial.attempt}
        if failed is not None:
            request["failed"] = str(failed)
        elif pruned:
            request["pruned"] = True
        else:
            request["values"] = values_of(value)
        answer = self.call(**request)
        if answer.get("ignored"):
            self.say_ignored(trial.number, answer)
        self.wake(has_told=True)
        return answer["state"]

    def tell_all(self, values: Iterable[Tuple[AskedTrial, Value]]) -> List[str]:
        """Records many values at once, much faster than one by one."""
        told: List[Dict[str, Any]] = []
        for trial, value in values:
            trial.check_study(self)
            told.append({"trial": trial.number, "attempt": trial.attempt, "values": values_of(value)})
        answers = self.call(tell=told)["told"]
        self.wake(has_told=True)
        numbers = [one["trial"] for one in told]
        for number, answer in zip(numbers, answers):
            if answer.get("ignored"):
                self.say_ignored(number, answer)
        for number, answer in zip(numbers, answers):
            if "error" in answer:
                raise DetolError(f"trial {number}: {answer['error']}")
        return [answer["state"] for answer in answers]

    @staticmethod
    def say_ignored(number: int, answer: Mapping[str, Any]) -> None:
        """Says that a tell has changed nothing."""
        say(f"trial {number} has ended before, and stays {answer.get('state', 'as it is')}: what was "
            "told now changes nothing")

    def wake(self, has_told: bool = False) -> None:
        """Wakes the threads that wait for tells of others."""
        self._of_this_process()
        with self._told:
            self.tells += has_told
            self._told.notify_all()

    def wait_for_tells(self, since: int) -> None:
        """Waits until there are others than `since`, at most a second: other programs tell, too."""
        self._of_this_process()
        with self._told:
            self._told.wait_for(lambda: self.tells != since, timeout=1)

    def _of_this_process(self) -> None:
        if self._pid != os.getpid():  # forked, maybe while a thread held it
            self._pid, self._told = os.getpid(), threading.Condition()

    def optimize(self, function: Callable[[AskedTrial], Value], jobs: int = 1, *,
                 catch: Catch = ()) -> None:
        """Evaluates the function, in `jobs` threads, until the budget is used up.

        An exception of the function ends the search and is raised here; its trial is told as failed.
        One of the types `catch` only fails its trial, and is shown on stderr. A Pruned ends its
        trial alone. KeyboardInterrupt ends the search once the running evaluations have ended; with
        a second one it does not wait for them.
        """
        self._optimize(function, jobs, catch)

    def _optimize(self, function: Callable[[AskedTrial], Value], jobs: int, catch: Catch) -> Search:
        check_function(function)
        if operator.index(jobs) < 1:
            raise ValueError(f"jobs is {jobs}; it must be at least 1")
        self._say_what_counts(function)
        search = Search(self, function, catch if isinstance(catch, tuple) else (catch,))
        search.run(jobs)
        if search.evaluated == 0 and self.finished and not self.quiet:
            say(f"study '{self.name}' was complete: nothing is evaluated; a larger budget goes on with "
                "it, another name begins another")
        self.finished += search.evaluated
        return search

    def _say_what_counts(self, function: Callable[[AskedTrial], Value]) -> None:
        """Says which values are not the function's, before it is evaluated."""
        is_other = differs_from_the_last(function, pathlib.Path(self.storage + ".d") / self.name)
        if self.finished and is_other:
            say(f"warning: {name_of(function)} differs from the function of the {self.finished} earlier "
                f"trials of study '{self.name}', whose values count as its own; another name begins "
                "another study")

    @property
    def best(self) -> Optional[Best]:
        """The best trial by the first objective, as `detol best` has it; None if no trial has a value."""
        answer = self.call(best=True)["best"]
        return Best(self.name, answer) if answer else None

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class NoMoreTrials(DetolError):
    """The budget is used up, or the searcher has nothing more to propose."""


def _reopened(name: str, parameters: Mapping[str, Any], storage: str, quiet: bool) -> Study:
    again = [name, "--storage", storage]
    return Study(Client(again, again=again, quiet=quiet), parameters, storage, quiet)


def _limits(trials: Optional[int], budget: Optional[str]) -> List[str]:
    limits = [budget] if budget else []
    if trials is not None:
        try:
            count = operator.index(trials)
        except TypeError:
            raise TypeError(f"trials is {short(trials)}; it must be a whole number") from None
        if count < 1 or isinstance(trials, bool):
            raise ValueError(f"trials is {trials}; it must be at least 1")
        limits.insert(0, f"{count}trials")
    return ["--budget", ",".join(limits)] if limits else []


def _warm_start(asked: Union[bool, str, Sequence[str]]) -> Any:
    if isinstance(asked, str) and asked not in ("auto", "none"):
        return [asked]
    if isinstance(asked, (bool, str)):
        return asked if isinstance(asked, str) else "auto" if asked else "none"
    return list(asked) or "none"


def open_study(name: Optional[str] = None, space: Optional[Space] = None, *,
               storage: Union[str, "os.PathLike[str]"] = "detol.db",
               objectives: Optional[Mapping[str, str]] = None, trials: Optional[int] = None,
               budget: Optional[str] = None,
               algorithm: Union[None, str, Mapping[str, Any]] = None,
               pruner: Union[None, str, Mapping[str, Any]] = None, steps: Optional[int] = None,
               seed: int = 0, warm_start: Union[bool, str, Sequence[str]] = False,
               initial_trials: Sequence[Mapping[str, Any]] = (),
               architecture: Optional[Mapping[str, Any]] = None,
               input: Sequence[int] = (), outputs: int = 1, if_exists: str = "resume",
               retry_failed: bool = True, quiet: bool = False) -> Study:
    """Opens the study of that name, or with a space or an architecture begins it. Without a name it
    is a new one, `study`, `study-2`, ...; what a study that goes on has already is said on stderr.

    Args:
        objectives: the metrics and their directions, {"loss": "minimize"}; the default is
            {"value": "minimize"}.
        trials: the study's total, over all its runs; `budget` may say more ("2h,200trials").
        algorithm: "portfolio" if it is None; the pruner is "none".
        steps: the number of reports of a whole trial, which most pruners must know.
        warm_start: True: begin with what studies of the same database with the same choices
            learned; a name, or a list of names: with what those learned.
        architecture: as in a space file; the trials then have networks, which read `input`
            ([channels, height, width]) and have so many outputs.
        if_exists: what if there is a study of the name: "resume" it, "fail", or begin a "new" one,
            whose name has a number behind it.
        retry_failed: trials that failed in earlier runs are given out again.
        quiet: nothing but warnings is said on stderr.

    Raises:
        DetolError: what is wrong with the space or the study; of a parameter it is a ValueError, too.
    """
    if if_exists not in ("resume", "fail", "new"):
        raise ValueError(f"if_exists is {short(if_exists)}; it must be 'resume', 'fail' or 'new'")
    begins = space is not None or architecture is not None
    if name is None and not begins:
        raise ValueError("name the study, or give the space of a new one")
    if name is None:
        name, if_exists = "study", "new"
    if not isinstance(name, str):
        raise TypeError(f"name is {short(name)}; it must be a text")
    if name.startswith("-"):
        raise ValueError(f"name is {short(name)}; it must not begin with '-'")
    storage = os.fsdecode(storage)
    arguments = [name, "--storage", storage, *_limits(trials, budget)]
    if retry_failed:
        arguments.append("--retry-failed")
    again = [name, "--storage", storage]
    given = {"objectives": objectives, "algorithm": algorithm, "pruner": pruner, "steps": steps,
             "seed": seed, "warm_start": warm_start, "initial_trials": initial_trials}
    if not begins:
        unused = [key for key, value in given.items() if value]
        if unused or if_exists != "resume":
            raise ValueError(f"{', '.join(unused) or 'if_exists'}: how a study begins is said with its "
                             f"space; without one, study '{name}' is as it was begun")
        return _opened(Client(arguments, again=again, quiet=quiet), {}, storage, quiet)
    parameters = parameters_of(space or {})
    external: Dict[str, Any] = {"steps": steps} if steps is not None else {}
    if architecture is not None:
        external.update(input=list(input), outputs=outputs)
    search: Dict[str, Any] = {"algorithm": algorithm or "portfolio", "pruner": pruner or "none",
                              "warm_start": _warm_start(warm_start)}
    if initial_trials:
        search["initial_trials"] = [dict(one) for one in initial_trials]
    if objectives is not None and not objectives:
        raise ValueError("objectives is empty; leave it out, or write {\"loss\": \"minimize\"}")
    file_of_space = {
        "version": 1, "study": name, "seed": seed, "external": external, "search": search,
        "objectives": [{"metric": metric, "direction": direction}
                       for metric, direction in (objectives or {"value": "minimize"}).items()]}
    if parameters:
        file_of_space["parameters"] = parameters
    if architecture is not None:
        file_of_space["architecture"] = dict(architecture)
    arguments += ["--if-exists", if_exists]
    try:
        text = json.dumps(file_of_space, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{short(error.object[max(0, error.start - 20):error.end])} has what is "
                         "no UTF-8; choose another name") from None
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(text)
        file.flush()
        # Once the study answers, it has read the file.
        try:
            return _opened(Client(arguments + ["--space", file.name], again=again, quiet=quiet),
                           parameters, storage, quiet)
        except DetolError as error:
            raise DetolError(in_python(str(error), file.name)) from None


def _opened(client: Client, parameters: Mapping[str, Any], storage: str, quiet: bool) -> Study:
    study = Study(client, parameters, storage, quiet)
    if study._trials and not quiet:
        rest = study._trials - study.finished
        again = f", and {rest} that failed or did not end are given out again" if rest else ""
        say(f"study '{study.name}' goes on: {study.finished} trials of other runs count{again}")
    return study


def delete_study(name: str, storage: Union[str, "os.PathLike[str]"] = "detol.db") -> None:
    """Deletes the study with its trials and files.

    Raises:
        DetolError: there is none, or a program runs it.
    """
    run(["study", "delete", name, "--yes", "--storage", os.fsdecode(storage)])


def minimize(function: Callable[[AskedTrial], Value], space: Space, trials: Optional[int] = None, *,
             name: Optional[str] = None, jobs: int = 1, catch: Catch = (),
             **options: Any) -> Best:
    """The trial for which the function is least, of `trials` in all or within another `budget`.

    Without a name each call is a new study, `minimize`, `minimize-2`, ... With one, a call goes on
    with the study of that name, whose trials count. `jobs` and `catch` are those of
    Study.optimize(), the other options those of open_study().

    Raises:
        TypeError: neither `trials` nor `budget` is given.
        DetolError: as open_study(); no trial has a value.
        Exception: what the function raised and `catch` does not name.
    """
    return _extreme("minimize", function, space, trials, name, jobs, catch, options)


def maximize(function: Callable[[AskedTrial], Value], space: Space, trials: Optional[int] = None, *,
             name: Optional[str] = None, jobs: int = 1, catch: Catch = (),
             **options: Any) -> Best:
    """As minimize, for the trial for which the function is greatest."""
    return _extreme("maximize", function, space, trials, name, jobs, catch, options)


def _extreme(direction: str, function: Callable[[AskedTrial], Value], space: Space,
             trials: Optional[int], name: Optional[str], jobs: int, catch: Catch,
             options: Dict[str, Any]) -> Best:
    if trials is None and not options.get("budget"):
        raise TypeError("give `trials` or `budget`, or the search has no end")
    check_function(function)
    if name is None:
        name, options["if_exists"] = direction, "new"
    if options.get("objectives") is None:
        options["objectives"] = {"value": direction}
    elif direction == "maximize":
        raise TypeError("objectives have their directions; call minimize or open_study with them")
    with open_study(name, space, trials=trials, **options) as study:
        search = study._optimize(function, jobs, catch)
        best = study.best
    if best is not None:
        return best
    if search.failed:
        raise DetolError(f"all {search.failed} trials failed; the last: "
                         f"{search.last_failure}") from search.last_error
    raise DetolError(f"none of the {study.finished} trials of study '{study.name}' has a value")

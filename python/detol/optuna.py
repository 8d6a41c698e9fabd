"""DetolSampler: detol's searchers for any Optuna study (Optuna 3 or newer).

    import optuna
    from detol.optuna import DetolSampler

    study = optuna.create_study(sampler=DetolSampler(algorithm="gp"))
    study.optimize(objective, n_trials=100)

Parameters that all trials of the study have are proposed by detol; what only some trials have, and the
first trial, is drawn at random, as Optuna's own GP and CMA-ES samplers do.
"""

import os
import sys
import tempfile
import threading
from typing import Any, Dict, Mapping, Optional, Sequence, Union

import optuna
from optuna.distributions import (BaseDistribution, CategoricalDistribution, FloatDistribution,
                                  IntDistribution)
from optuna.search_space import IntersectionSearchSpace
from optuna.trial import FrozenTrial, TrialState

from detol._client import DetolError, plain
from detol._space import Choice, Domain, Float, Int
from detol._asked import AskedTrial
from detol._study import Study, open_study


def _domain_of(distribution: BaseDistribution) -> Domain:
    if isinstance(distribution, FloatDistribution):
        return Float(distribution.low, distribution.high, log=distribution.log,
                     step=distribution.step)
    if isinstance(distribution, IntDistribution):
        return Int(distribution.low, distribution.high, log=distribution.log,
                   step=distribution.step)
    # A choice of Optuna can be any object: detol sees its number as a word.
    return Choice(*(f"choice {i}" for i in range(len(distribution.choices))))


def _to_detol(distribution: BaseDistribution, value: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return f"choice {int(distribution.to_internal_repr(value))}"
    return plain(value)


def _to_optuna(distribution: BaseDistribution, value: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(value[len("choice "):])]
    return value


class DetolSampler(optuna.samplers.BaseSampler):
    """Proposes by detol's searchers.

    Args:
        algorithm: a searcher of detol: portfolio, gp, tpe, evolution, nsga2, random, ...
        seed: every random choice follows from it; None: another one each time.
        storage: a database of detol that keeps the trials; None: a temporary one.
    """

    def __init__(self, algorithm: str = "portfolio", *, seed: Optional[int] = None,
                 storage: Union[None, str, os.PathLike] = None):
        self._algorithm = algorithm
        self._seed = seed
        self._random = optuna.samplers.RandomSampler(seed=seed)
        self._folder = None if storage else tempfile.TemporaryDirectory(prefix="detol-")
        self._storage = os.fsdecode(storage) if storage else os.path.join(self._folder.name, "detol.db")
        self._space_of_all = IntersectionSearchSpace(include_pruned=True)
        self._lock = threading.Lock()
        self._study: Optional[Study] = None
        self._space: Dict[str, BaseDistribution] = {}
        self._asked: Dict[int, AskedTrial] = {}  # by the number of Optuna's trial
        self._told: set = set()                  # numbers of Optuna's trials
        self._begun = 0

    def reseed_rng(self) -> None:
        self._random.reseed_rng()

    def infer_relative_search_space(self, study: optuna.Study,
                                    trial: FrozenTrial) -> Dict[str, BaseDistribution]:
        space = self._space_of_all.calculate(study)
        return {name: one for name, one in space.items() if not one.single()}

    def sample_relative(self, study: optuna.Study, trial: FrozenTrial,
                        search_space: Mapping[str, BaseDistribution]) -> Dict[str, Any]:
        if not search_space:
            return {}
        with self._lock:
            if self._study is None or self._space != search_space:
                self._begin(study, dict(search_space))
            self._tell_others(study)
            trials = self._study.ask(1)
            if not trials:  # the searcher waits for outcomes
                return {}
            self._asked[trial.number] = trials[0]
            return {name: _to_optuna(one, trials[0].params[name])
                    for name, one in search_space.items()}

    def sample_independent(self, study: optuna.Study, trial: FrozenTrial, name: str,
                           distribution: BaseDistribution) -> Any:
        return self._random.sample_independent(study, trial, name, distribution)

    def after_trial(self, study: optuna.Study, trial: FrozenTrial, state: TrialState,
                    values: Optional[Sequence[float]]) -> None:
        with self._lock:
            asked = self._asked.pop(trial.number, None)
            if asked is not None:
                self._told.add(trial.number)
                self._tell(asked, state, values, trial.intermediate_values)

    def close(self) -> None:
        """Ends detol's process. Called when the sampler is collected, too."""
        if self._study is not None:
            self._study.close()
            self._study = None
        if self._folder is not None:
            self._folder.cleanup()

    def __del__(self) -> None:
        if not sys.is_finalizing():  # else the process ends by itself, as its input does
            self.close()

    def __getstate__(self) -> Any:
        raise TypeError("a DetolSampler cannot be pickled: it has a process; make one in each process")

    # Begins a study of detol for this space, in which all trials of Optuna's study count.
    def _begin(self, study: optuna.Study, space: Dict[str, BaseDistribution]) -> None:
        if self._study is not None:
            self._study.close()
        self._begun += 1
        self._space = space
        self._asked.clear()
        self._told.clear()
        objectives = {f"value_{i}": "minimize" if one == optuna.study.StudyDirection.MINIMIZE
                      else "maximize" for i, one in enumerate(study.directions)}
        seed = self._seed if self._seed is not None else int.from_bytes(os.urandom(4), "little")
        self._study = open_study(f"{study.study_name}-{os.getpid()}-{id(self)}-{self._begun}"[-100:],
                                 {name: _domain_of(one) for name, one in space.items()},
                                 storage=self._storage, objectives=objectives,
                                 algorithm=self._algorithm, seed=seed, quiet=True)

    # Tells detol of ended trials that it did not propose.
    def _tell_others(self, study: optuna.Study) -> None:
        for trial in study.get_trials(deepcopy=False):
            if not trial.state.is_finished() or trial.number in self._told:
                continue
            self._told.add(trial.number)
            if any(name not in trial.params for name in self._space):
                continue
            params = {name: _to_detol(one, trial.params[name]) for name, one in self._space.items()}
            try:
                asked = self._study.ask(params=params)
            except DetolError:  # its value is not of this space: the range has changed
                continue
            if asked.state is None:
                self._tell(asked, trial.state, trial.values, trial.intermediate_values)

    def _tell(self, asked: AskedTrial, state: TrialState, values: Optional[Sequence[float]],
              intermediate: Mapping[int, float]) -> None:
        if state == TrialState.COMPLETE and values is not None:
            self._study.tell(asked, list(values))
        elif state == TrialState.PRUNED and intermediate:
            asked.report(intermediate[max(intermediate)])
            self._study.tell(asked, pruned=True)
        else:
            self._study.tell(asked, failed=state.name.lower())

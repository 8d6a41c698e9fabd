"""Searches from Python, and programs that `detol tune` runs.

A search for a function; with name="mine" a later call goes on where it was:

    import detol

    best = detol.minimize(lambda trial: (trial["x"] - 1) ** 2, {"x": detol.Float(-5, 5)}, trials=50)

A program that `detol tune` runs:

    trial = detol.trial({"lr": 0.1})            # the values where no search runs the program
    for step in range(1, 31):
        loss = train_one_epoch(lr=trial.params["lr"])
        trial.report(step, val_loss=loss)
        if trial.should_stop():
            break

Only the standard library is needed. docs/python.md has more.
"""

from detol._asked import AskedTrial, Best, Pruned
from detol._client import DetolError
from detol._space import Bool, Choice, Domain, Float, Int
from detol._study import (NoMoreTrials, Study, delete_study, maximize, minimize, open_study)
from detol._trial import Trial, trial
from detol._version import __version__

__all__ = ["AskedTrial", "Best", "Bool", "Choice", "DetolError", "Domain", "Float", "Int",
           "NoMoreTrials", "Pruned", "Study", "Trial", "__version__", "delete_study", "maximize",
           "minimize", "open_study", "trial"]

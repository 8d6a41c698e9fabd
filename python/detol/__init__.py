"""Programs that `detol tune` runs: their parameters, their reports, and when to stop.

    import detol

    trial = detol.trial({"lr": 0.1})            # the values where no search runs the program
    for step in range(1, 31):
        loss = train_one_epoch(lr=trial.params["lr"])
        trial.report(step, val_loss=loss)
        if trial.should_stop():
            break

Only the standard library is needed. The protocol is in docs/tuning.md.
"""

from detol._trial import Trial, trial

__all__ = ["Trial", "trial"]

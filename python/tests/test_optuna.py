"""DetolSampler, where Optuna is installed."""

import os
import unittest

try:
    import optuna
    from detol.optuna import DetolSampler
except ImportError:
    optuna = None


@unittest.skipUnless(optuna and os.environ.get("DETOL"), "Optuna is not installed, or DETOL names no program")
class SamplerTest(unittest.TestCase):
    def setUp(self):
        optuna.logging.set_verbosity(optuna.logging.WARNING)

    def study(self, **options):
        self.sampler = DetolSampler(options.pop("algorithm", "gp"), seed=1)
        self.addCleanup(self.sampler.close)
        return optuna.create_study(sampler=self.sampler, **options)

    def test_finds_the_least_of_a_mixed_space(self):
        study = self.study()

        def objective(trial):
            x = trial.suggest_float("x", -5, 5)
            n = trial.suggest_int("n", 1, 9)
            kind = trial.suggest_categorical("kind", [None, True, (1, 2)])
            lr = trial.suggest_float("lr", 1e-5, 1, log=True)
            return (x - 1) ** 2 + abs(n - 4) + (kind is not True) + abs(lr - 0.01)

        study.optimize(objective, n_trials=60)
        self.assertLess(study.best_value, 0.6)

    def test_what_only_some_trials_have_is_drawn_at_random(self):
        study = self.study()

        def objective(trial):
            x = trial.suggest_float("x", 0, 1)
            if x > 0.5:
                return x + trial.suggest_float("y", 0, 1)
            return x

        study.optimize(objective, n_trials=20)
        self.assertEqual(len(study.get_trials(states=[optuna.trial.TrialState.COMPLETE])), 20)
        self.assertLess(study.best_value, 0.1)

    def test_pruned_and_failed_trials_are_told_and_others_count(self):
        study = self.study(direction="maximize")
        study.add_trial(optuna.trial.create_trial(
            params={"x": 0.75}, distributions={"x": optuna.distributions.FloatDistribution(0, 1)},
            value=5))
        study.enqueue_trial({"x": 0.25})

        def objective(trial):
            x = trial.suggest_float("x", 0, 1)
            if trial.number % 5 == 3:
                trial.report(-1, 1)
                raise optuna.TrialPruned()
            if trial.number % 5 == 4:
                raise ValueError("no luck")
            return 1 - abs(x - 0.75)

        study.optimize(objective, n_trials=20, catch=(ValueError,))
        told = self.sampler._study
        self.assertEqual(told.best.values, {"value_0": 5.0})
        self.assertEqual(told.call(study=True)["trials"], len(study.trials))

    def test_several_objectives_and_threads(self):
        study = self.study(directions=["minimize", "minimize"], algorithm="nsga2")
        study.optimize(lambda trial: (trial.suggest_float("x", 0, 1),
                                      (1 - trial.suggest_float("x", 0, 1)) ** 2), n_trials=30, n_jobs=3)
        self.assertEqual(len(study.trials), 30)


if __name__ == "__main__":
    unittest.main()

"""Searches from Python, against the built program."""

import contextlib
import io
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import detol
from detol._client import plain


@unittest.skipUnless(os.environ.get("DETOL"), "DETOL names no program")
class StudyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.storage = os.path.join(folder.name, "detol.db")
        self.space = {"x": detol.Float(-5, 5), "opt": detol.Choice("sgd", "adam"),
                      "momentum": detol.Float(0.5, 0.99, when={"opt": "sgd"}),
                      "layers": detol.Int(1, 8)}

    def open(self, **options):
        options.setdefault("algorithm", "random")
        options.setdefault("quiet", True)
        study = detol.open_study("s", self.space, storage=self.storage, **options)
        self.addCleanup(study.close)
        return study

    def states(self):
        out = subprocess.run([os.environ["DETOL"], "query", "-f", "json", "--storage", self.storage,
                              "SELECT trial, state FROM v_trials"], capture_output=True, check=True)
        return {row["trial"]: row["state"] for row in json.loads(out.stdout)}

    def test_trials_of_an_architecture_have_networks(self):
        chain = {"type": "chain", "stages": [{"depth": {"type": "int", "low": 1, "high": 3},
                                              "block": {"op": "conv", "kernel": 3}}]}
        with detol.open_study("nets", storage=self.storage, architecture=chain, input=[3, 8, 8],
                              outputs=4, objectives={"accuracy": "maximize", "params": "minimize"}) as study:
            trial = study.ask()
            self.assertEqual(trial.params, {})
            self.assertEqual(trial.architecture[0]["shape"], [3, 8, 8])
            self.assertEqual(trial.architecture[-1]["channels"], 4)
            study.tell(trial, 0.5)
            self.assertGreater(study.best.values["params"], 100)

    def test_minimize_finds_the_least_and_goes_on_where_it_was(self):
        calls = []

        def f(trial):
            calls.append(trial.number)
            return (trial["x"] - 1) ** 2

        space = {"x": detol.Float(-5, 5)}
        detol.minimize(f, space, 20, name="s", storage=self.storage, algorithm="gp")
        best = detol.minimize(f, space, 30, name="s", storage=self.storage, algorithm="gp")
        self.assertEqual(calls, list(range(30)))
        self.assertLess(best.value, 0.01)
        self.assertAlmostEqual(best.params["x"], 1, delta=0.1)
        greatest = detol.maximize(lambda trial: -f(trial), space, 20, name="other",
                                  storage=self.storage, algorithm="gp")
        self.assertGreater(greatest.value, -0.1)

    def test_a_trial_has_its_active_parameters_alone(self):
        for trial in self.open().ask(20):
            self.assertEqual("momentum" in trial, trial["opt"] == "sgd")
            self.assertIsInstance(trial["layers"], int)

    def test_suggestions_are_those_of_the_space(self):
        trial = self.open().ask(params={"x": 0.5, "opt": "adam", "layers": 3})
        self.assertEqual(trial.suggest_float("x", -5, 5), 0.5)
        self.assertEqual(trial.suggest_int("layers", 1, 8), 3)
        self.assertEqual(trial.suggest_categorical("opt", ["sgd", "adam"]), "adam")
        for wrong in (lambda: trial.suggest_float("x", -5, 6), lambda: trial.suggest_float("y", 0, 1),
                      lambda: trial.suggest_float("x", -5, 5, log=True),
                      lambda: trial.suggest_float("momentum", 0.5, 0.99)):
            self.assertRaises(detol.DetolError, wrong)

    def test_every_way_to_end_a_trial(self):
        study = self.open(objectives={"loss": "minimize", "size": "maximize"})
        trials = study.ask(6)
        self.assertEqual(study.tell(trials[0], [0.5, 3]), "COMPLETE")
        self.assertEqual(study.tell(trials[1], {"loss": 0.4, "size": 2, "other": 1}), "COMPLETE")
        self.assertEqual(study.tell(trials[2], failed="no luck"), "FAIL")
        self.assertEqual(study.tell(trials[3], [math.nan, 1]), "FAIL")
        self.assertFalse(trials[4].report([0.1, 1], step=1))
        self.assertEqual(study.tell(trials[4], pruned=True), "PRUNED")
        self.assertEqual(study.best.number, 4)
        self.assertEqual(study.best.values, {"loss": 0.1, "size": 1})
        self.assertRaises(detol.DetolError, study.tell, trials[5], 0.5)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(study.tell_all([(trials[5], [1, 1]), (trials[0], [9, 9])]),
                             ["COMPLETE", "COMPLETE"])
            self.assertIn("trial 0 has ended before", said.getvalue())
            self.assertNotIn("trial 5", said.getvalue())
            study.tell(trials[2], [1, 1])
            self.assertIn("trial 2 has ended before", said.getvalue())
            said.truncate(0)
            self.assertEqual(study.tell(trials[0], [0.5, 3]), "COMPLETE")
            self.assertEqual(said.getvalue().strip("\0"), "")

    def test_a_function_that_raises_fails_its_trial_alone(self):
        def f(trial):
            if trial.number == 1:
                raise ValueError("no luck")
            if trial.number == 2:
                trial.report(0.5)
                raise detol.Pruned()
            return trial["x"]

        self.open(trials=5).optimize(f, catch=ValueError)
        self.assertEqual(self.states(), {0: "COMPLETE", 1: "FAIL", 2: "PRUNED", 3: "COMPLETE",
                                         4: "COMPLETE"})

    def test_a_value_that_cannot_be_told_fails_its_trial(self):
        values = iter([1.0, None, "pruned", 2.0])

        def function(_):
            value = next(values)
            if value == "pruned":
                raise detol.Pruned()  # before it has reported
            return value

        self.open(trials=4).optimize(function, catch=TypeError)
        self.assertEqual(self.states(), {0: "COMPLETE", 1: "FAIL", 2: "FAIL", 3: "COMPLETE"})

    def test_a_search_needs_an_end(self):
        with self.assertRaisesRegex(TypeError, "budget"):
            detol.minimize(lambda trial: 0, self.space, storage=self.storage)
        best = detol.minimize(lambda trial: trial["x"], self.space, budget="3trials",
                              storage=self.storage)
        self.assertEqual(len(self.states()), 3)
        self.assertLessEqual(best.value, 5)

    def test_the_pruner_stops_reports(self):
        study = self.open(trials=20, steps=9, pruner={"name": "asha", "min_resource": 1})
        lengths = []

        def f(trial):
            for step in range(trial.steps_done + 1, 10):
                if trial.report(abs(trial["x"]) + 1 / step, step):
                    break
            lengths.append(step)
            return 0

        study.optimize(f)
        self.assertIn(9, lengths)
        self.assertLess(min(lengths), 9)

    def test_jobs_evaluate_at_the_same_time_and_share_the_budget(self):
        meet = threading.Barrier(3, timeout=30)

        def f(trial):
            if trial.number < 3:
                meet.wait()  # passes when three trials are being evaluated
            return trial["x"]

        self.open(trials=12).optimize(f, jobs=3)
        self.assertEqual(self.states(), {number: "COMPLETE" for number in range(12)})

    def test_programs_share_a_study_and_one_that_is_killed_loses_nothing(self):
        code = ("import detol, sys\n"
                "study = detol.open_study('s', storage=sys.argv[1])\n"
                "trial = study.ask()\n"
                "print(trial.number, flush=True)\n"
                "sys.stdin.read()\n")
        first = self.open()
        mine = first.ask()
        other = subprocess.Popen([sys.executable, "-c", code, self.storage], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        self.assertEqual(other.stdout.readline(), b"1\n")
        other.send_signal(signal.SIGKILL)
        other.wait()
        other.stdin.close()
        other.stdout.close()
        self.assertEqual(first.tell(mine, 1), "COMPLETE")
        while self.states()[1] == "RUNNING":  # until its detol has seen that it is gone
            pass
        self.assertEqual(first.ask().number, 1)

    def test_what_is_wrong_is_one_sentence(self):
        with self.assertRaisesRegex(detol.DetolError, "low 5 is above high -5"):
            detol.open_study("t", {"x": detol.Float(5, -5)}, storage=self.storage)
        with self.assertRaisesRegex(detol.DetolError, "did you mean"):
            detol.open_study("t", self.space, storage=self.storage, algorithm="gpp")
        with self.assertRaisesRegex(detol.DetolError, "no study"):
            detol.open_study("nothing", storage=self.storage)
        self.open(trials=1).ask()
        with self.assertRaises(detol.NoMoreTrials):
            self.open(trials=1).ask()

    def test_numbers_of_other_libraries_are_numbers(self):
        class Scalar:
            def item(self):
                return 0.5

        self.assertEqual(plain([Scalar(), {"a": math.inf}, True]), [0.5, {"a": "Infinity"}, True])


if __name__ == "__main__":
    unittest.main()

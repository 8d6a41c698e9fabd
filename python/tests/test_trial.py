"""What a program is given by `detol tune`, and what it writes."""

import contextlib
import io
import json
import os
import pathlib
import signal
import tempfile
import unittest
from unittest import mock

import detol


class Searched(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.report = pathlib.Path(folder.name) / "report.jsonl"
        environment = {
            "DETOL_STUDY": "train", "DETOL_TRIAL": "7", "DETOL_SEED": "12",
            "DETOL_PARAMS": '{"lr": 0.5, "opt": "adam"}', "DETOL_BUDGET_EPOCHS": "30",
            "DETOL_TRIAL_DIR": folder.name, "DETOL_REPORT": str(self.report),
            "DETOL_CHECKPOINT": folder.name + "/checkpoint"}
        patch = mock.patch.dict(os.environ, environment)
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))

    def lines(self):
        return [json.loads(line) for line in self.report.read_text().splitlines()]

    def test_has_what_the_search_chose_and_defaults_for_the_rest(self):
        trial = detol.trial({"lr": 0.1, "momentum": 0.9})
        self.assertEqual(trial.params, {"lr": 0.5, "opt": "adam", "momentum": 0.9})
        self.assertEqual((trial.id, trial.number, trial.study, trial.seed), (7, 7, "train", 12))
        self.assertEqual((trial.steps_total, trial.steps_done, trial["lr"]), (30, 0, 0.5))
        self.assertEqual(trial.checkpoint, self.report.parent / "checkpoint")
        self.assertTrue(trial.is_searched)

    def test_appends_a_line_for_each_report(self):
        trial = detol.trial()
        trial.report(1, loss=0.5, size=3)
        trial.report(loss=0.25)
        self.assertEqual(self.lines(), [{"step": 1, "loss": 0.5, "size": 3}, {"loss": 0.25}])

    def test_takes_numbers_of_other_libraries_and_nothing_else(self):
        class Scalar:
            def item(self):
                return 2.5

        trial = detol.trial()
        trial.report(1, loss=Scalar())
        self.assertEqual(self.lines()[0]["loss"], 2.5)
        for bad in ("0.5", None, True, [1]):
            with self.assertRaises(TypeError):
                trial.report(2, loss=bad)
        self.assertEqual(len(self.lines()), 1)

    def test_knows_the_steps_of_earlier_attempts(self):
        self.report.write_text('{"step": 1, "loss": 1}\n{"loss": 1}\nno report\n{"step": 7, "lo')
        self.assertEqual(detol.trial().steps_done, 2)

    def test_says_that_steps_has_two_meanings(self):
        with self.assertWarnsRegex(FutureWarning, "write trial.steps_total"):
            self.assertEqual(detol.trial().steps, 30)

    def test_reports_as_a_function_that_is_searched_for_does(self):
        trial = detol.trial()
        trial.report({"loss": 0.5}, 3)
        trial.report({"value": 0.5}, step=4)
        trial.report(5, value=0.25)
        trial.report(step=6, value=0.25)
        self.assertEqual([line["step"] for line in self.lines()], [3, 4, 5, 6])
        self.assertEqual([line.get("value") for line in self.lines()], [None, 0.5, 0.25, 0.25])

    def test_a_report_without_a_metric_is_an_error(self):
        trial = detol.trial()
        for wrong in (lambda: trial.report(0.5, 3), lambda: trial.report(0.5), lambda: trial.report(),
                      lambda: trial.report(3), lambda: trial.report(2.5, loss=1),
                      lambda: trial.report(1, 2, loss=1), lambda: trial.report({"loss": 1}, loss=1)):
            self.assertRaises(TypeError, wrong)
        self.assertFalse(self.report.exists())

    def test_is_told_to_stop_by_a_signal(self):
        trial = detol.trial()
        self.assertFalse(trial.should_stop())
        os.kill(os.getpid(), signal.SIGTERM)
        self.assertTrue(trial.should_stop())
        self.assertTrue(trial.report(1, loss=0.5))

    def test_may_leave_signals_alone(self):
        before = signal.getsignal(signal.SIGTERM)
        detol.trial(watch_signals=False)
        self.assertEqual(signal.getsignal(signal.SIGTERM), before)


class Alone(unittest.TestCase):
    def test_has_its_defaults_and_prints_its_reports(self):
        with mock.patch.dict(os.environ, {}, clear=True):
            trial = detol.trial({"lr": 0.1})
        self.assertFalse(trial.is_searched)
        self.assertEqual(trial.params, {"lr": 0.1})
        self.assertIsNone(trial.steps_total)
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            trial.report(1, loss=2.0)
        self.assertEqual(json.loads(printed.getvalue()), {"step": 1, "loss": 2.0})


if __name__ == "__main__":
    unittest.main()

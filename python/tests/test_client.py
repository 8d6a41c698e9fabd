"""The line to the program: forks, pickles, calls that are interrupted, programs that are not there."""

import os
import pickle
import subprocess
import unittest
from unittest import mock

import detol
from detol._client import plain, program
from support import StorageTest, said

FORKED = """
import detol, os, sys
study = detol.open_study("s", {"x": detol.Float(0, 1)}, storage=sys.argv[1], algorithm="random",
                         trials=40, quiet=True)
mine = study.ask()
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        if number == 0:
            study.tell(mine, 0.5)
        study.optimize(lambda trial: trial["x"])
        study.close()
        os._exit(0)
    children.append(child)
study.optimize(lambda trial: trial["x"])
codes = [os.waitpid(child, 0)[1] for child in children]
print(codes)
study.close()
"""


FORKED_AND_CLOSED = """
import detol, os, sys
study = detol.open_study("s", {"x": detol.Float(0, 1)}, storage=sys.argv[1], quiet=True)
reads, writes = os.pipe()
child = os.fork()
if child == 0:
    os.close(writes)
    os.read(reads, 1)  # until the parent has closed the study
    os._exit(0)
study.close()
os.close(writes)
print(os.waitpid(child, 0)[1])
"""


class ClientTest(StorageTest):
    def open(self, **options):
        options.setdefault("algorithm", "random")
        options.setdefault("quiet", True)
        study = detol.open_study("s", self.space, storage=self.storage, **options)
        self.addCleanup(study.close)
        return study

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_forked_processes_ask_by_programs_of_their_own(self):
        process = self.python(FORKED)
        out, errors = process.communicate(timeout=120)
        self.assertEqual((out, process.returncode), ("[0, 0, 0]\n", 0), errors)
        states = self.states("s")
        self.assertEqual({state for state, _ in states.values()}, {"COMPLETE"})
        self.assertEqual(sorted(states), list(range(40)))

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_forked_process_does_not_keep_the_parent_s_study_open(self):
        process = self.python(FORKED_AND_CLOSED)
        self.addCleanup(process.kill)
        self.assertEqual(process.communicate(timeout=60)[0], "0\n")

    def test_a_trial_can_be_pickled_and_is_told_where_its_study_is(self):
        study = self.open()
        trial = study.ask()
        copy = pickle.loads(pickle.dumps(trial))
        self.assertEqual((copy.number, copy.params), (trial.number, trial.params))
        for call in (lambda: copy.report(1), lambda: copy.suggest_float("x", -5, 5)):
            with self.assertRaisesRegex(detol.DetolError, "pickled"):
                call()
        self.assertEqual(study.tell(copy, 1), "COMPLETE")

    def test_a_study_can_be_pickled_and_is_the_same_one(self):
        study = self.open()
        with pickle.loads(pickle.dumps(study)) as copy:
            trial = copy.ask()
            self.assertEqual(trial.suggest_float("x", -5, 5), trial["x"])
            self.assertEqual(copy.tell(trial, 1), "COMPLETE")
        self.assertEqual(study.best.number, trial.number)

    def test_the_answer_to_an_interrupted_call_is_not_taken_for_another_s(self):
        study = self.open()
        pipe = study._client._process.stdout
        read = pipe.readline
        with mock.patch.object(pipe, "readline", side_effect=KeyboardInterrupt, create=True):
            self.assertRaises(KeyboardInterrupt, study.ask)
        self.assertIs(pipe.readline.__self__, read.__self__)
        self.assertIsNone(study.best, "the trial of the lost answer was released")
        self.assertEqual(study.ask().number, 0)

    def test_a_closed_study_says_so(self):
        study = self.open()
        trial = study.ask()
        self.assertNotIn("closed", repr(study))
        study.close()
        study.close()
        self.assertIn("closed", repr(study))
        for call in (study.ask, lambda: study.best, lambda: study.tell(trial, 1),
                     lambda: trial.report(1), lambda: study.optimize(lambda trial: 1)):
            with self.assertRaisesRegex(detol.DetolError, "^the study is closed$"):
                call()

    def test_a_program_that_was_killed_is_named(self):
        study = self.open()
        study._client._process.kill()
        with self.assertRaisesRegex(detol.DetolError, "ended by signal 9"):
            study.ask()

    def test_a_program_that_is_not_there_is_named(self):
        with mock.patch.dict(os.environ, {"DETOL": "/nowhere/detol"}):
            with self.assertRaisesRegex(detol.DetolError, "cannot run /nowhere/detol: No such file"):
                self.open()

    def test_a_tell_that_changes_nothing_is_said(self):
        study = self.open()
        trial = study.ask()
        answer = {"state": "COMPLETE", "ignored": True}
        with mock.patch.object(study._client, "call", return_value=answer), said() as stderr:
            self.assertEqual(study.tell(trial, 2), "COMPLETE")
        self.assertIn("trial 0 has ended before, and stays COMPLETE", stderr.getvalue())
        with mock.patch.object(study._client, "call", return_value={"told": [answer]}):
            with said() as stderr:
                study.tell_all([(trial, 2)])
        self.assertIn("changes nothing", stderr.getvalue())

    def test_another_study_s_knowledge_is_taken_only_if_that_is_asked_for(self):
        with detol.open_study("first", self.space, storage=self.storage, trials=5, quiet=True) as first:
            first.optimize(lambda trial: trial["x"] ** 2)
        with said() as stderr:
            self.open(quiet=False).close()
        self.assertEqual(stderr.getvalue(), "")
        for name, asked in (("auto", True), ("named", "first"), ("listed", ["first"])):
            with self.subTest(name), said() as stderr:
                detol.open_study(name, self.space, storage=self.storage, warm_start=asked).close()
                self.assertIn("starts from 5 trials of study 'first'", stderr.getvalue())

    def test_reports_of_both_kinds_mean_the_same(self):
        study = self.open(steps=9, objectives={"loss": "minimize"})
        trial = study.ask()
        trial.report(0.5, 1)
        trial.report({"loss": 0.4}, step=2)
        trial.report(3, loss=0.3)
        trial.report(step=4, loss=0.2)
        trial.report(value=0.1, step=5)
        trial.report(0.05)
        for wrong in (lambda: trial.report(7, 0.5), lambda: trial.report("0.5", 7), lambda: trial.report(7, 8, loss=1),
                      lambda: trial.report(), lambda: trial.report(None, 7),
                      lambda: trial.report(0.1, -1), lambda: trial.report(True, 7)):
            self.assertRaises(TypeError, wrong)
        study.tell(trial, pruned=True)
        self.assertEqual(study.best.values, {"loss": 0.05})
        self.assertEqual((trial.steps_done, trial.steps_total, trial.id), (0, 9, 0))
        with self.assertWarnsRegex(FutureWarning, "write trial.steps_done"):
            self.assertEqual(trial.steps, 0)
        self.assertIn("number=0", repr(trial))

    def test_steps_may_count_from_0(self):
        trial = self.open(steps=3).ask()
        self.assertEqual([trial.report(10 - step, step) for step in range(3)], [False, False, True])

    def test_a_step_that_is_reported_again_is_said_once(self):
        study = self.open(steps=30)
        with said() as stderr:
            trial = study.ask()
            for step in (3, 2, 3, 4):
                trial.report(step, step)
            study.close()
        self.assertEqual(stderr.getvalue().count("trial 0 reports step 2 again"), 1)
        self.assertEqual(stderr.getvalue().count("again"), 1)

    def test_a_trial_of_another_study_is_refused(self):
        with detol.open_study("other", self.space, storage=self.storage, quiet=True) as other:
            trial = other.ask()
            study = self.open()
            study.ask()
            for call in (lambda: study.tell(trial, 1), lambda: study.tell_all([(trial, 1)]),
                         lambda: study.tell(pickle.loads(pickle.dumps(trial)), 1)):
                with self.assertRaisesRegex(ValueError, "is of study 'other'"):
                    call()
            self.assertEqual(other.tell(trial, 1), "COMPLETE")

    def test_a_database_that_is_deleted_is_an_error(self):
        study = self.open()
        trial = study.ask()
        os.remove(self.storage)
        with self.assertRaisesRegex(detol.DetolError, "was deleted or replaced"):
            study.tell(trial, 1)

    def test_a_name_is_a_name(self):
        for wrong in ("-q", "--help", 3, "a b"):
            with self.assertRaises((TypeError, ValueError, detol.DetolError)) as raised:
                detol.open_study(wrong, self.space, storage=self.storage)
            self.assertRegex(str(raised.exception), "name")

    def test_what_a_call_cannot_mean_is_an_error(self):
        study = self.open()
        trial = study.ask()
        for wrong in (lambda: study.tell(trial), lambda: study.tell(trial, None),
                      lambda: study.tell(trial, "NaN"), lambda: study.tell(trial, 1, failed="why"),
                      lambda: study.tell(trial, 1, pruned=True), lambda: study.ask(0),
                      lambda: study.ask(2.5), lambda: study.ask(-1),
                      lambda: study.ask(2, params={"x": 1}), lambda: study.tell_all([(trial, None)]),
                      lambda: self.open(trials=0), lambda: self.open(trials=2.5),
                      lambda: self.open(trials=True), lambda: self.open(objectives={}),
                      lambda: detol.open_study(), lambda: detol.open_study(
                          "s", storage=self.storage, algorithm="gp")):
            with self.assertRaises((TypeError, ValueError)):
                wrong()
        self.assertEqual(study.tell(trial, 1), "COMPLETE")

    def test_the_version_is_the_program_s(self):
        out = subprocess.run([program(), "--version"], capture_output=True, text=True, check=True)
        self.assertEqual(out.stdout.strip(), f"detol {detol.__version__}")
        with mock.patch("detol._study.__version__", "9.9.9"), said() as stderr:
            self.open()
        self.assertRegex(stderr.getvalue(), r"the program is of version \S+, and this package of 9.9.9")


class SpaceTest(unittest.TestCase):
    def test_what_cannot_be_searched_is_an_error_where_it_is_written(self):
        for wrong, why in ((lambda: detol.Float(2, 1), "low 2 is above high 1"),
                           (lambda: detol.Float(0, float("nan")), "high is nan"),
                           (lambda: detol.Float(0, float("inf")), "high is inf"),
                           (lambda: detol.Float("0", 1), "low is '0'"),
                           (lambda: detol.Float(0, 1, log=True), "with log it must be above 0"),
                           (lambda: detol.Float(0, 1, step=0), "step is 0"),
                           (lambda: detol.Int(0, 2.7), "high is 2.7; it must be a whole number"),
                           (lambda: detol.Int(0, True), "high is True"),
                           (lambda: detol.Int(0, 5, step=0.5), "step is 0.5"),
                           (lambda: detol.Choice(), "there is no choice"),
                           (lambda: detol.Choice([]), "there is no choice"),
                           (lambda: detol.Choice(None, 3), "the choice None"),
                           (lambda: detol.Bool(when="sgd"), "when is 'sgd'")):
            with self.subTest(why):
                with self.assertRaisesRegex(ValueError, why):
                    wrong()
                self.assertRaises(detol.DetolError, wrong)

    def test_what_is_no_domain_is_an_error_that_says_what_to_write(self):
        for space, why in (({"x": (0, 1)}, r"x is \(0, 1\); write detol.Float\(0, 1\) or detol.Int"),
                           ({"x": (0, 0.5)}, r"write detol.Float\(0, 0.5\)$"),
                           ({"x": ["a", "b"]}, r"write detol.Choice\('a', 'b'\)"),
                           ({"x": 3}, "x is 3"), ({1: detol.Bool()}, "called 1"), ([1], "the space")):
            with self.subTest(why), self.assertRaisesRegex(ValueError, why):
                detol.open_study("s", space)

    def test_a_list_of_choices_is_what_it_holds(self):
        self.assertEqual(detol.Choice(["a", "b"]).json(), detol.Choice("a", "b").json())
        self.assertEqual(detol.Int(1, 3.0).json()["high"], 3)


class PlainTest(unittest.TestCase):
    def test_what_json_cannot_hold_has_a_word(self):
        self.assertEqual(plain({"a": float("nan"), "b": (1, None)}), {"a": "NaN", "b": [1, None]})


if __name__ == "__main__":
    unittest.main()

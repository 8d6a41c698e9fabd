"""minimize and maximize: whose values the answer has, and what becomes of a function that raises."""

import os
import signal
import threading
import traceback
import unittest

import detol
from detol import _optimize
from detol._function import fingerprint
from support import StorageTest, said


class MinimizeTest(StorageTest):
    def minimize(self, function, trials=5, **options):
        options.setdefault("algorithm", "random")
        options.setdefault("quiet", True)
        return detol.minimize(function, self.space, trials, storage=self.storage, **options)

    def test_a_call_without_a_name_is_a_new_study(self):
        first = self.minimize(lambda trial: 1)
        second = self.minimize(lambda trial: 2)
        greatest = detol.maximize(lambda trial: 3, self.space, 5, storage=self.storage, quiet=True)
        self.assertEqual([best.value for best in (first, second, greatest)], [1, 2, 3])
        self.assertEqual([best.study for best in (first, second, greatest)],
                         ["minimize", "minimize-2", "maximize"])
        with detol.open_study(space=self.space, storage=self.storage) as one:
            with detol.open_study(space=self.space, storage=self.storage) as other:
                self.assertEqual([one.name, other.name], ["study", "study-2"])

    def test_what_if_exists_says_is_done(self):
        self.minimize(lambda trial: 1, name="mine")
        with self.assertRaisesRegex(detol.DetolError, 'exists.*name="another"'):
            self.minimize(lambda trial: 2, name="mine", if_exists="fail")
        self.assertEqual(self.minimize(lambda trial: 2, name="mine", if_exists="new").study, "mine-2")
        with self.assertRaisesRegex(ValueError, "if_exists"):
            self.minimize(lambda trial: 2, name="mine", if_exists="news")
        detol.delete_study("mine", self.storage)
        self.assertEqual(self.minimize(lambda trial: 3, name="mine").value, 3)
        with self.assertRaisesRegex(detol.DetolError, "unknown study"):
            detol.delete_study("nothing", self.storage)

    def test_a_study_that_goes_on_says_what_it_has_already(self):
        def f(trial):
            return 1

        with said() as first:
            self.minimize(f, name="mine", quiet=False)
        self.assertEqual(first.getvalue(), "")
        with said() as more:
            self.minimize(f, 6, name="mine", quiet=False)
        self.assertIn("'mine' goes on: 5 trials of other runs count", more.getvalue())
        self.assertNotIn("differs", more.getvalue())
        with said() as complete:
            self.minimize(f, 6, name="mine", quiet=False)
        self.assertIn("nothing is evaluated", complete.getvalue())

    def test_another_function_under_the_same_name_is_said_even_if_quiet(self):
        self.minimize(lambda trial: 1, name="mine")
        with said() as stderr:
            best = self.minimize(lambda trial: 2, 6, name="mine")
        self.assertEqual(best.value, 1)
        self.assertRegex(stderr.getvalue(), "warning: .*differs from the function of the 5 earlier")

    def test_an_exception_is_raised_with_its_place_and_fails_its_trial(self):
        for jobs in (1, 3):
            with self.subTest(jobs=jobs):
                name = f"jobs{jobs}"
                try:
                    self.minimize(lambda trial: trial["lr"], 50, name=name, jobs=jobs)
                except KeyError as error:
                    frames = traceback.extract_tb(error.__traceback__)
                    self.assertEqual(frames[-2].filename, __file__)
                else:
                    self.fail("nothing was raised")
                states = self.states(name)
                self.assertLessEqual(len(states), jobs)
                self.assertEqual(states[0][0], "FAIL")
                self.assertIn("KeyError: 'lr'", states[0][1])

    def test_trials_that_failed_are_evaluated_by_the_next_run(self):
        def typo(trial):
            raise NameError("typo")

        self.assertRaises(NameError, self.minimize, typo, name="mine")
        with self.assertRaisesRegex(detol.DetolError, "all 5 trials failed; the last: NameError: typo"):
            with said():
                self.minimize(typo, name="mine", catch=Exception)
        calls = []
        with said() as stderr:
            self.minimize(lambda trial: calls.append(trial.number) or 1, name="mine", quiet=False)
        self.assertEqual(sorted(calls), [0, 1, 2, 3, 4])
        self.assertIn("5 that failed or did not end are given out again", stderr.getvalue())

    def test_exceptions_that_are_caught_are_each_said_once(self):
        def f(trial):
            if trial.number in (1, 3):
                raise ValueError(f"no luck {trial.number}")
            return 1

        with said() as stderr:
            self.minimize(f, name="mine", catch=(KeyError, ValueError))
        lines = [line for line in stderr.getvalue().splitlines() if "failed" in line]
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r"trial 1 failed: ValueError: no luck 1 \(.*test_minimize.py:\d+\)")
        with self.assertRaises(ValueError):
            self.minimize(f, catch=KeyError)

    def test_the_last_failure_is_the_cause_of_having_no_value(self):
        with said(), self.assertRaises(detol.DetolError) as raised:
            self.minimize(lambda trial: trial["lr"], 3, catch=KeyError)
        self.assertIsInstance(raised.exception.__cause__, KeyError)
        self.assertIn("all 3 trials failed; the last: KeyError: 'lr'", str(raised.exception))
        with said() as stderr, self.assertRaisesRegex(detol.DetolError, "all 3 trials failed.*nan"):
            self.minimize(lambda trial: float("nan"), 3)
        self.assertEqual(stderr.getvalue().count("failed"), 3)

    def test_texts_of_any_characters_are_told(self):
        def f(trial):
            if trial.number == 0:
                raise FileNotFoundError("caf\udce9")  # a file's name in Latin-1
            return 1

        moods = ("\N{GRINNING FACE}", "a\u2028\u0085\ufeff")
        space = {"mood": detol.Choice(*moods)}
        with said() as stderr:
            best = detol.minimize(f, space, trials=2, storage=self.storage, catch=OSError)
        self.assertIn(best.params["mood"], moods)
        self.assertIn("trial 0 failed: FileNotFoundError: caf", stderr.getvalue())
        with self.assertRaisesRegex(ValueError, "no UTF-8"):
            detol.minimize(f, {"caf\udce9": detol.Float(0, 1)}, trials=2, storage=self.storage)

    def test_what_is_no_value_is_raised(self):
        async def later(trial):
            return 1

        def each(trial):
            yield 1

        for wrong in (None, "0.5", True, 1j, [0.5, 1], {"loss": 1}, {}, [], object(), 10**400):
            with self.subTest(value=wrong), self.assertRaises(detol.DetolError):
                self.minimize(lambda trial: wrong)
        for function in (later, each, 3):
            with self.subTest(function=function), self.assertRaises(TypeError):
                self.minimize(function)
        for jobs in (0, -1):
            self.assertRaises(ValueError, self.minimize, lambda trial: 1, jobs=jobs)

    def test_what_is_a_number_elsewhere_is_a_value(self):
        class Array:
            ndim = 1

            def tolist(self):
                return [0.25]

            def item(self):
                return 0.25

        self.assertEqual(self.minimize(lambda trial: Array()).value, 0.25)
        self.assertEqual(self.minimize(lambda trial: {"value": 3, "size": 5}).value, 3)

    def test_what_ends_a_program_leaves_its_trial_for_the_next_run(self):
        for error in (KeyboardInterrupt, SystemExit):
            for jobs in (1, 2):
                with self.subTest(error=error, jobs=jobs):
                    name = f"{error.__name__}{jobs}"

                    def f(trial):
                        raise error()

                    self.assertRaises(error, self.minimize, f, name=name, jobs=jobs)
                    self.assertEqual({state for state, _ in self.states(name).values()}, {"WAITING"})

    def test_what_ends_an_open_study_s_search_gives_its_trial_back(self):
        def f(trial):
            raise SystemExit()

        with detol.open_study("s", self.space, storage=self.storage, trials=9, quiet=True) as study:
            self.assertRaises(SystemExit, study.optimize, f)
            self.assertEqual(study.ask().number, 0)

    def test_a_trial_that_came_after_the_end_is_given_back(self):
        calls = []
        with detol.open_study("s", self.space, storage=self.storage, trials=9, quiet=True) as study:
            search = _optimize.Search(study, lambda trial: calls.append(trial) or 1, ())
            call = study.call

            def call_and_end(**request):
                answer = call(**request)
                search._end()
                return answer

            study.call = call_and_end
            search.run(1)
            self.assertEqual(calls, [])
            self.assertEqual(call(ask=1)["trials"][0]["trial"], 0)

    def test_a_trial_that_its_reports_have_ended_is_not_told(self):
        requests = []
        with detol.open_study("s", self.space, storage=self.storage, trials=2, steps=1,
                              quiet=True) as study:
            call = study.call
            study.call = lambda **request: requests.append(request) or call(**request)
            study.optimize(lambda trial: trial.report(2, 1) and 1)
            self.assertEqual(study.best.value, 2)
        self.assertFalse([request for request in requests if "tell" in request])

    def test_ctrl_c_ends_all_threads_after_the_evaluations_that_run(self):
        began = threading.Barrier(4, timeout=60)
        calls = []

        def f(trial):
            calls.append(trial.number)
            if began.wait() == 0:
                os.kill(os.getpid(), signal.SIGINT)
            return 1

        def minimize():
            self.minimize(f, 600, name="mine", jobs=4)

        self.assertRaises(KeyboardInterrupt, minimize)
        self.assertLessEqual(len(calls), 8, "those that ran, and those that were about to begin")
        self.assertLess(len(self.states("mine")), 9)

    def test_progress_is_said_now_and_then(self):
        self.addCleanup(setattr, _optimize, "PROGRESS_EVERY_S", _optimize.PROGRESS_EVERY_S)
        _optimize.PROGRESS_EVERY_S = 0.0
        with said() as stderr:
            self.minimize(lambda trial: 1, quiet=False)
        self.assertIn("5 trials evaluated, 0 failed, best 1 (trial 0)", stderr.getvalue())
        with said() as stderr:
            self.minimize(lambda trial: 1)
        self.assertEqual(stderr.getvalue(), "")


SHIFT = 2


def helper(x):
    return x + 1


def with_helper(trial):
    return helper(trial["x"]) + SHIFT


class FingerprintTest(unittest.TestCase):
    def test_is_of_the_code_and_of_what_it_takes_from_outside(self):
        global helper, SHIFT

        def make(power, counter=None):
            count = 0

            def f(trial, scale=1.0):
                nonlocal count
                count += 1
                return scale * trial["x"] ** power

            return f

        first = make(2)
        print_of_first = fingerprint(first)
        first({"x": 1})
        self.assertEqual(fingerprint(first), print_of_first, "it counts its calls")
        self.assertEqual(fingerprint(make(2)), print_of_first)
        self.assertNotEqual(fingerprint(make(3)), print_of_first)
        other = make(2)
        other.__defaults__ = (2.0,)
        self.assertNotEqual(fingerprint(other), print_of_first)

        before = fingerprint(with_helper)
        kept, SHIFT = SHIFT, 3
        self.assertNotEqual(fingerprint(with_helper), before)
        SHIFT = kept
        self.assertEqual(fingerprint(with_helper), before)
        kept, helper = helper, (lambda x: x + 2)
        self.assertNotEqual(fingerprint(with_helper), before)
        helper = kept


if __name__ == "__main__":
    unittest.main()

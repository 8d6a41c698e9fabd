#!/usr/bin/env python3
"""detol against Optuna's TPE and GP samplers on the hyperparameters of scikit-learn models.

    against_optuna.py run OUT.jsonl [--seeds 10] [--trials 60] [--tasks a,b]
    against_optuna.py verdict OUT.jsonl

Each method asks for two trials at a time, as two workers of equal speed would, for the same number of
trials, with its default settings; detol through its Python package (`portfolio`). The value is the log loss
of a cross-validation, or 1 - R^2. `run` goes on where it was. Needs Optuna, scikit-learn, and for the GP
sampler PyTorch; DETOL names the program.
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")

import optuna
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import ElasticNet
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import detol

optuna.logging.set_verbosity(optuna.logging.ERROR)


def _data(name, most=400):
    x, y = getattr(datasets, "load_" + name)(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(x))[:most]
    return x[order], y[order]


def _log_loss(model, data):
    scores = cross_val_score(model, *data, cv=3, scoring="neg_log_loss")
    return float(-scores.mean())


def _one_minus_r2(model, data):
    return float(1 - cross_val_score(model, *data, cv=3, scoring="r2").mean())


def svc(data, s):
    kernel = s.choice("kernel", ["rbf", "poly", "linear"])
    keys = {"C": s.log("C", 1e-3, 1e3), "kernel": kernel}
    if kernel != "linear":
        keys["gamma"] = s.log("gamma", 1e-5, 1e1, kernel=["rbf", "poly"])
    if kernel == "poly":
        keys["degree"] = s.integer("degree", 2, 5, kernel=["poly"])
    return _log_loss(make_pipeline(StandardScaler(), SVC(probability=True, random_state=0, **keys)), data)


def forest(data, s):
    return _one_minus_r2(RandomForestRegressor(
        s.integer("trees", 5, 60), max_depth=s.integer("depth", 1, 16), random_state=0,
        max_features=s.number("features", 0.1, 1), min_samples_leaf=s.integer("leaf", 1, 20),
        bootstrap=s.choice("bootstrap", [True, False])), data)


def boosting(data, s):
    return _log_loss(GradientBoostingClassifier(
        learning_rate=s.log("rate", 1e-3, 1), n_estimators=s.integer("trees", 5, 60), random_state=0,
        max_depth=s.integer("depth", 1, 6), subsample=s.number("subsample", 0.3, 1),
        min_samples_leaf=s.integer("leaf", 1, 30)), data)


def perceptron(data, s):
    layers = s.integer("layers", 1, 3)
    units = [s.log_integer(f"units{i}", 4, 64, layers=[n for n in (1, 2, 3) if n > i])
             for i in range(layers)]
    solver = s.choice("solver", ["adam", "sgd"])
    keys = {"momentum": s.number("momentum", 0.5, 0.99, solver=["sgd"])} if solver == "sgd" else {}
    return _log_loss(make_pipeline(StandardScaler(), MLPClassifier(
        units, solver=solver, alpha=s.log("alpha", 1e-6, 1), random_state=0, max_iter=25,
        learning_rate_init=s.log("rate", 1e-4, 1e-1),
        activation=s.choice("activation", ["relu", "tanh", "logistic"]), **keys)), data)


def any_model(data, s):
    kind = s.choice("model", ["svc", "knn", "tree"])
    if kind == "svc":
        model = SVC(C=s.log("C", 1e-3, 1e3, model=["svc"]), gamma=s.log("gamma", 1e-5, 1e1, model=["svc"]),
                    probability=True, random_state=0)
    elif kind == "knn":
        model = KNeighborsClassifier(s.integer("neighbours", 1, 40, model=["knn"]),
                                     weights=s.choice("weights", ["uniform", "distance"], model=["knn"]),
                                     p=s.number("p", 1, 4, model=["knn"]))
    else:
        model = DecisionTreeClassifier(max_depth=s.integer("depth", 1, 12, model=["tree"]),
                                       min_samples_leaf=s.integer("leaf", 1, 40, model=["tree"]),
                                       random_state=0)
    return _log_loss(make_pipeline(StandardScaler(), model), data)


def linear(data, s):
    steps = [MinMaxScaler()]
    degree = s.integer("degree", 1, 2)
    if degree > 1:
        steps.append(PolynomialFeatures(degree, interaction_only=s.choice("products", [True, False],
                                                                         degree=[2])))
    steps.append(ElasticNet(alpha=s.log("alpha", 1e-5, 1e1), l1_ratio=s.number("l1", 0, 1),
                            fit_intercept=s.choice("intercept", [True, False]), max_iter=300))
    return _one_minus_r2(make_pipeline(*steps), data)


def pipeline(data, s):
    steps = [{"none": "passthrough", "standard": StandardScaler(), "range": MinMaxScaler()}[
        s.choice("scaler", ["none", "standard", "range"])]]
    if s.choice("pca", [True, False]):
        steps.append(PCA(s.integer("components", 2, 12, pca=[True]), random_state=0))
    steps.append(KNeighborsClassifier(s.integer("neighbours", 1, 60), p=s.number("p", 1, 4),
                                      weights=s.choice("weights", ["uniform", "distance"])))
    return _log_loss(make_pipeline(*steps), data)


TASKS = {
    "svc on breast_cancer": (svc, _data("breast_cancer")),
    "svc on digits": (svc, _data("digits", 300)),
    "forest on diabetes": (forest, _data("diabetes")),
    "boosting on breast_cancer": (boosting, _data("breast_cancer", 250)),
    "perceptron on digits": (perceptron, _data("digits", 250)),
    "any model on wine": (any_model, _data("wine")),
    "linear on diabetes": (linear, _data("diabetes")),
    "pipeline on wine": (pipeline, _data("wine")),
}


class OptunaSuggest:
    """The choices of a trial of Optuna; conditions are those of the code."""

    def __init__(self, trial):
        self._trial = trial

    def number(self, name, low, high, **_):
        return self._trial.suggest_float(name, low, high)

    def log(self, name, low, high, **_):
        return self._trial.suggest_float(name, low, high, log=True)

    def integer(self, name, low, high, **_):
        return self._trial.suggest_int(name, low, high)

    def log_integer(self, name, low, high, **_):
        return self._trial.suggest_int(name, low, high, log=True)

    def choice(self, name, choices, **_):
        return self._trial.suggest_categorical(name, choices)


class Declare:
    """Finds the space of a task: it runs the task's code with every value of its conditions."""

    def __init__(self):
        self.space, self._values, self._todo = {}, {}, []

    def _add(self, name, domain, values, when):
        if when:
            domain._json["when"] = dict(when)
        self.space[name] = domain
        return self._values.get(name, values[0])

    def number(self, name, low, high, **when):
        return self._add(name, detol.Float(low, high), [low], when)

    def log(self, name, low, high, **when):
        return self._add(name, detol.Float(low, high, log=True), [low], when)

    def integer(self, name, low, high, **when):
        return self._add(name, detol.Int(low, high), [high], when)

    def log_integer(self, name, low, high, **when):
        return self._add(name, detol.Int(low, high, log=True), [low], when)

    def choice(self, name, choices, **when):
        domain = detol.Bool() if set(choices) == {True, False} else detol.Choice(*choices)
        return self._add(name, domain, choices, when)


class DetolSuggest:
    def __init__(self, trial):
        self._params = trial.params

    def number(self, name, *_, **__):
        return self._params[name]

    log = integer = log_integer = choice = number


def space_of(task):
    """Every parameter that any branch of the task's code asks for."""
    found = {}
    branches = [{}, {"kernel": "poly"}, {"model": "knn"}, {"model": "tree"}, {"solver": "sgd"},
                {"pca": True}, {"degree": 2}]
    for values in branches:
        declare = Declare()
        declare._values = values
        try:
            task(None, declare)
        except Exception:  # it has no data; the choices are made before it trains
            pass
        found.update(declare.space)
    return found


def run_optuna(sampler, task, data, trials):
    study = optuna.create_study(sampler=sampler)
    best = []
    asked_s = 0
    while len(best) < trials:
        began = time.perf_counter()
        pair = [study.ask() for _ in range(2)]
        asked_s += time.perf_counter() - began
        for trial in pair:
            began = time.perf_counter()
            inner = OptunaSuggest(trial)
            value, spent = evaluate(task, data, inner)
            asked_s += time.perf_counter() - began - spent
            best.append(min(value, best[-1] if best else math.inf))
            trial_value = value
            pair_values[trial.number] = trial_value
        began = time.perf_counter()
        for trial in pair:
            study.tell(trial, pair_values.pop(trial.number))
        asked_s += time.perf_counter() - began
    return best, asked_s


pair_values = {}


def evaluate(task, data, suggest):
    """The value, and the seconds that the model took (suggestions are asked for in the task's code)."""
    timer = Timed(suggest)
    began = time.perf_counter()
    try:
        value = task(data, timer)
    except ValueError:
        value = 10.0
    value = value if math.isfinite(value) else 10.0
    return min(value, 10.0), time.perf_counter() - began - timer.seconds


class Timed:
    def __init__(self, inner):
        self._inner, self.seconds = inner, 0.0

    def __getattr__(self, kind):
        def suggest(*words, **when):
            began = time.perf_counter()
            value = getattr(self._inner, kind)(*words, **when)
            self.seconds += time.perf_counter() - began
            return value
        return suggest


def run_detol(seed, task, data, trials):
    best, asked_s = [], 0
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        study = detol.open_study("s", space_of(task), storage=os.path.join(folder, "detol.db"),
                                 trials=trials, seed=seed)
        asked_s += time.perf_counter() - began
        while len(best) < trials:
            began = time.perf_counter()
            pair = study.ask(2)
            asked_s += time.perf_counter() - began
            values = [evaluate(task, data, DetolSuggest(trial))[0] for trial in pair]
            for value in values:
                best.append(min(value, best[-1] if best else math.inf))
            began = time.perf_counter()
            study.tell_all(zip(pair, values))
            asked_s += time.perf_counter() - began
        study.close()
    return best, asked_s


METHODS = {
    "optuna tpe": lambda seed, *rest: run_optuna(optuna.samplers.TPESampler(seed=seed), *rest),
    "optuna gp": lambda seed, *rest: run_optuna(optuna.samplers.GPSampler(seed=seed), *rest),
    "detol": run_detol,
}


def run(arguments):
    done = set()
    if os.path.exists(arguments.out):
        done = {(row["task"], row["method"], row["seed"]) for row in map(json.loads, open(arguments.out))}
    for seed in range(arguments.seeds):
        for name in arguments.tasks.split(",") if arguments.tasks else TASKS:
            task, data = TASKS[name]
            for method, search in METHODS.items():
                if (name, method, seed) in done:
                    continue
                best, asked_s = search(seed, task, data, arguments.trials)
                with open(arguments.out, "a") as file:
                    file.write(json.dumps({"task": name, "method": method, "seed": seed, "best": best,
                                           "ms_per_trial": 1e3 * asked_s / len(best)}) + "\n")


def verdict(arguments):
    rows = [json.loads(line) for line in open(arguments.out)]
    print(f"{'task':28}" + "".join(f"{method:>24}" for method in METHODS))
    wins = 0
    for name in TASKS:
        values = {method: [row["best"][-1] for row in rows
                           if row["task"] == name and row["method"] == method] for method in METHODS}
        if not all(values.values()):
            continue
        medians = {method: statistics.median(all_) for method, all_ in values.items()}
        wins += medians["detol"] <= min(medians["optuna tpe"], medians["optuna gp"])
        print(f"{name:28}" + "".join(f"{medians[m]:16.5f} (n={len(values[m])})" for m in METHODS))
    for method in METHODS:
        times = [row["ms_per_trial"] for row in rows if row["method"] == method]
        print(f"{method}: {statistics.median(times):.1f} ms a trial beside the model (median of {len(times)})")
    print(f"detol's median is better than or equal to both on {wins} tasks")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["run", "verdict"])
    parser.add_argument("out")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--tasks")
    arguments = parser.parse_args()
    {"run": run, "verdict": verdict}[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())

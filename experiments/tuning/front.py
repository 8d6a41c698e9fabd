#!/usr/bin/env python3
"""Accuracy and latency: detol's searchers against Optuna's NSGA-II, with one trainer.

    front.py run OUT.jsonl [--seconds 120] [--seeds 5] [--methods portfolio,nsga2,optuna]
    front.py verdict OUT.jsonl [--by time|work]

The space is configs/cnn.yaml on the first images of Fashion-MNIST, the objectives validation accuracy and the
measured latency of one image. All candidates are trained by detol: those that Optuna proposes are the
`initial_trials` of a study of their own, a population at a time, with the same epochs and data. Each method has the
same device time, the sum of its trials' seconds (on a machine with other work rather `--by work`: FLOPs); what is refused as too large costs nothing. The verdict is the
hypervolume of (accuracy, logarithm of the latency) from one reference point for all, and, as clocks differ
between runs, that of (accuracy, logarithm of the FLOPs) of the same trials. `run` goes on where it was. Needs
Optuna for its method; DETOL names the program.
"""

import argparse
import gzip
import json
import math
import os
import pathlib
import statistics
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
TRAINING, EPOCHS, POPULATION = 12_000, 2, 16
LEAST_ACCURACY = 0.5  # of the reference point
BLOCKS = ["conv", "residual", "mbconv", "separable_conv", "identity"]


def small_data(folder):
    """Writes the first images of the training set, and of the test set as many as detol wants to see."""
    for part, count in (("train", TRAINING), ("t10k", 100)):
        for kind in ("images-idx3", "labels-idx1"):
            name = f"{part}-{kind}-ubyte"
            path = DATA / name
            data = path.read_bytes() if path.exists() else gzip.open(str(path) + ".gz").read()
            header = 4 + 4 * data[3]
            size = math.prod(struct.unpack(f">{data[3]}I", data[4:header])[1:])
            (folder / name).write_bytes(data[:4] + struct.pack(">I", count) + data[8 : header + count * size])


class Trainer:
    """Studies of one folder."""

    def __init__(self, folder, seed):
        self.folder, self.seed, self.studies = pathlib.Path(folder), seed, 0
        small_data(self.folder)

    def search(self, budget, algorithm, initial=()):
        """Runs a study; returns its trials in their order."""
        self.studies += 1
        name = f"s{self.studies}"
        objectives = "[{metric: val_accuracy, direction: maximize}, {metric: latency, direction: minimize}]"
        settings = {"study": name, "data.path": self.folder, "training.epochs": EPOCHS,
                    "training.schedule.warmup_epochs": 0.2, "search.pruner": "none", "search.warm_start": "none",
                    "objectives": objectives, "search.initial_trials": json.dumps(list(initial))}
        words = [os.environ["DETOL"], "--storage", str(self.folder / "detol.db"), "search", "--space",
                 str(ROOT / "configs/cnn.yaml"), "--seed", str(self.seed), "-j", "1", "-q", "--device", "cpu",
                 "--budget", budget]
        for key, value in (settings | algorithm).items():
            words += ["--set", f"{key}={value}"]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode not in (0, 7):
            raise SystemExit(done.stderr)
        rows = subprocess.run([os.environ["DETOL"], "--storage", str(self.folder / "detol.db"), "query", "-f", "json",
                               "SELECT trial, state, device_seconds AS seconds, values_json, flops FROM v_trials "
                               f"WHERE study = '{name}' ORDER BY trial"], capture_output=True, text=True, check=True)
        trials = []
        for row in json.loads(rows.stdout):
            values = json.loads(row["values_json"] or "{}")
            is_whole = row["state"] == "COMPLETE" and isinstance(values.get("val_accuracy"), float)
            trials.append({"trial": row["trial"], "seconds": row["seconds"] or 0, "flops": row["flops"],
                           "accuracy": values.get("val_accuracy") if is_whole else None,
                           "latency": values.get("latency") if is_whole else None})
        return trials


def of_detol(trainer, seconds, algorithm):
    # The device is held a little longer than the trials take; what is too much is cut off.
    return trainer.search(f"{seconds * 1.1:.0f}cpu-s", {"search.algorithm": algorithm})


def candidate_of(trial):
    """Suggests a candidate of configs/cnn.yaml."""
    chosen = {}

    def choose(name, choices):
        chosen[name] = trial.suggest_categorical(name, choices)
        return chosen[name]

    def number(name, low, high, log=False):
        chosen[name] = trial.suggest_float(name, low, high, log=log)

    choose("architecture.stem.channels", [16, 32])
    for i in range(3):
        stage = f"architecture.stages[{i}]."
        chosen[stage + "depth"] = trial.suggest_int(stage + "depth", 1, 3)
        if choose(stage + "block.op", BLOCKS) == "mbconv":
            choose(stage + "block.expansion", [2, 4])
        choose(stage + "block.se", [True, False])
    number("architecture.head.dropout", 0.0, 0.5)
    if choose("optimizer", ["sgd", "adamw"]) == "sgd":
        number("momentum", 0.8, 0.99)
    number("lr", 1e-3, 1e-1, log=True)
    number("weight_decay", 1e-6, 1e-2, log=True)
    choose("batch_size", [64, 128])
    return chosen


def of_optuna(trainer, seconds):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=optuna.samplers.NSGAIISampler(
        population_size=POPULATION, seed=trainer.seed))
    trials = []
    while sum(one["seconds"] for one in trials) < seconds:
        asked = [study.ask() for _ in range(POPULATION)]
        done = trainer.search(f"{POPULATION}trials", {"search.algorithm": "random"}, [candidate_of(one) for one in asked])
        for one, result in zip(asked, done):
            if result["accuracy"] is None:
                study.tell(one, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(one, [result["accuracy"], result["latency"]])
        trials += done[:POPULATION]  # more were drawn where some were refused
    return trials


METHODS = {
    "portfolio": lambda trainer, seconds: of_detol(trainer, seconds, "portfolio"),
    "gp": lambda trainer, seconds: of_detol(trainer, seconds, "gp"),
    "nsga2": lambda trainer, seconds: of_detol(trainer, seconds, f"{{name: nsga2, population: {POPULATION}}}"),
    "optuna": of_optuna,
}


def run(arguments):
    out = pathlib.Path(arguments.out)
    known = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    for seed in range(1, arguments.seeds + 1):
        for method in arguments.methods.split(","):
            if any(one["seed"] == seed and one["method"] == method for one in known):
                continue
            with tempfile.TemporaryDirectory() as folder:
                trials = METHODS[method](Trainer(folder, seed), arguments.seconds)
            with open(out, "a") as file:
                file.write(json.dumps({"seed": seed, "method": method, "seconds": arguments.seconds, "trials": trials}) + "\n")


def within(run, unit, budget):
    """Returns the trials that ended within a budget: of seconds, or of FLOPs of their networks, to which the work of
    a training is proportional."""
    used, kept = 0, []
    for trial in run["trials"]:
        is_trained = trial["accuracy"] is not None
        used += trial[unit] if is_trained or unit == "seconds" else 0
        if used > budget:
            break
        if is_trained:
            kept.append(trial)
    return kept


def add_kept(runs, by):
    """Adds to each run the trials that count: within the seconds of all, or the work that every method did with the seed."""
    work = {}
    for one in runs:
        total = sum(trial["flops"] for trial in one["trials"] if trial["accuracy"] is not None)
        work[one["seed"]] = min(total, work.get(one["seed"], total))
    for one in runs:
        one["kept"] = within(one, "seconds", one["seconds"]) if by == "time" else within(one, "flops", work[one["seed"]])


def hypervolume(points, worst):
    """Of points (accuracy to maximise, cost to minimise), above LEAST_ACCURACY and below the worst cost."""
    volume, best = 0.0, LEAST_ACCURACY
    for accuracy, cost in sorted(points, key=lambda point: (point[1], -point[0])):
        if accuracy > best:
            volume += (accuracy - best) * max(0.0, worst - cost)
            best = accuracy
    return volume


def verdict(arguments):
    runs = [json.loads(line) for line in open(arguments.out)]
    add_kept(runs, arguments.by)
    for cost in ("latency", "flops"):
        costs = [math.log10(trial[cost]) for one in runs for trial in one["kept"]]
        least, worst = min(costs), max(costs)
        whole = (1 - LEAST_ACCURACY) * (worst - least)
        print(f"accuracy and {cost}: share of the hypervolume up to accuracy 1 and the least {cost} of all")
        for method in dict.fromkeys(one["method"] for one in runs):
            own = [one for one in runs if one["method"] == method]
            shares = [hypervolume([(t["accuracy"], math.log10(t[cost])) for t in one["kept"]], worst) / whole for one in own]
            best = [max(t["accuracy"] for t in one["kept"]) for one in own]
            print(f"  {method:10} mean {statistics.mean(shares):.3f}  seeds {' '.join(f'{s:.3f}' for s in shares)}  "
                  f"trials {' '.join(str(len(one['kept'])) for one in own)}  best accuracy {statistics.mean(best):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    runs = commands.add_parser("run")
    runs.add_argument("out")
    runs.add_argument("--seconds", type=float, default=120)
    runs.add_argument("--seeds", type=int, default=5)
    runs.add_argument("--methods", default="portfolio,nsga2,optuna")
    runs.set_defaults(do=run)
    of = commands.add_parser("verdict")
    of.add_argument("out")
    of.add_argument("--by", choices=["time", "work"], default="time", help="what is equal")
    of.set_defaults(do=verdict)
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()

"""Compares detol on tables with scikit-learn's MLP and HistGradientBoosting.

    compare.py run TABLE.csv... [--program DETOL | --peers] [--splits 5] [--budget 120cpu-s]
                                [--spaces FOLDER] [--keep FOLDER] >> scores.jsonl
    compare.py verdict scores.jsonl...

Every table has a header and its label last; a label of texts or of at most ten different numbers is
a class. Each split holds a fifth out, stratified by class; the area under the ROC curve (classes)
or the root mean squared error (numbers) is of that fifth, by weights that have not seen it. The
peers have their default settings, one-hot categories (ordinal codes for the trees) and, for the
MLP, standardised numbers. One core each. `verdict` prints the means over the splits and the
paired differences to the peers with their standard errors, positive where detol is better: for the
best trial of a search, and for what commands of a few seconds make of the search, an ensemble of
its trials, and one of five trainings of the best trial on all of the records that are not for
testing. Needs numpy, pandas and scikit-learn.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import mean_squared_error, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

PEERS = ("hist_gradient_boosting", "mlp")
OURS = {"detol": (["test", "s"],),
        "detol_ensemble": (["ensemble", "s"],),
        "detol_of_all_data": (["retrain", "s", "--on", "train+validation", "--seeds", "5", "-j", "1"],
                              ["ensemble", "s", "--on", "train+validation"])}


def peer(name, is_class):
    is_tree = name == "hist_gradient_boosting"
    if is_tree:
        text = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        number = "passthrough"
        model = HistGradientBoostingClassifier() if is_class else HistGradientBoostingRegressor()
    else:
        text = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        number = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        model = MLPClassifier(max_iter=300) if is_class else MLPRegressor(max_iter=300)
    columns = make_column_transformer(
        (text, make_column_selector(dtype_exclude=np.number)),
        (number, make_column_selector(dtype_include=np.number)))
    return make_pipeline(columns, model)


def score_of_peer(name, is_class, train, test):
    label = train.columns[-1]
    model = peer(name, is_class).fit(train.drop(columns=label), train[label])
    rows = test.drop(columns=label)
    if not is_class:
        return mean_squared_error(test[label], model.predict(rows)) ** 0.5
    shares = model.predict_proba(rows)
    if shares.shape[1] == 2:
        return roc_auc_score(test[label], shares[:, 1])
    return roc_auc_score(test[label], shares, multi_class="ovr")


def scores_of_detol(arguments, name, is_class, train, test):
    with tempfile.TemporaryDirectory() as folder:
        train.to_csv(f"{folder}/train.csv", index=False)
        test.to_csv(f"{folder}/test.csv", index=False)
        call = lambda *words: subprocess.run(
            [arguments.program, "--storage", f"{folder}/detol.db", *words], capture_output=True, text=True)
        space = "table" if is_class else "table_regression"
        if arguments.spaces:
            space = f"{arguments.spaces}/{space}.yaml"
        ran = call("search", "--space", space, "--study", "s", "--data", f"{folder}/train.csv",
                   "--set", f"data.test_path={folder}/test.csv",
                   "--set", f"data.label={train.columns[-1]}",
                   "--budget", arguments.budget, "-j", "1", "--progress", "none")
        if ran.returncode != 0:
            raise SystemExit(ran.stderr)
        if arguments.keep:
            shutil.copytree(folder, f"{arguments.keep}/{name}", dirs_exist_ok=True)
        for model, commands in OURS.items():
            answers = [call(*words, "-f", "json").stdout for words in commands]
            tested = json.loads(answers[-1])
            tested = tested[0] if isinstance(tested, list) else tested
            yield model, tested["test"]["test_auc" if is_class else "test_rmse"]


def scores_of_peers(is_class, train, test):
    for model in PEERS:
        yield model, score_of_peer(model, is_class, train, test)


def run(arguments):
    tables = {path.stem: pd.read_csv(path) for path in arguments.tables}
    for split in range(arguments.splits):
        for name, table in tables.items():
            label = table[table.columns[-1]]
            is_class = not pd.api.types.is_numeric_dtype(label) or label.nunique() <= 10
            train, test = train_test_split(table, test_size=0.2, random_state=split,
                                           stratify=label if is_class else None)
            scores = (scores_of_peers(is_class, train, test) if arguments.peers else
                      scores_of_detol(arguments, f"{name}-{split}", is_class, train, test))
            for model, score in scores:
                print(json.dumps({"table": name, "split": split, "metric": "auc" if is_class else "rmse",
                                  "model": model, "score": round(float(score), 6)}), flush=True)


def verdict(arguments):
    lines = [json.loads(line) for path in arguments.scores for line in path.read_text().splitlines()]
    scores = {(line["table"], line["model"], line["split"]): line["score"] for line in lines}
    tables = dict.fromkeys((line["table"], line["metric"]) for line in lines)
    for ours in OURS:
        print_verdict(ours, scores, tables)


def print_verdict(ours, scores, tables):
    above_mlp = beside_trees = judged = 0
    for name, metric in tables:
        sign = 1 if metric == "auc" else -1
        splits = [s for s in range(100) if all((name, m, s) in scores for m in (ours, *PEERS))]
        if not splits:
            continue
        of = {m: np.array([scores[name, m, s] for s in splits]) for m in (ours, *PEERS)}
        text = f"{name:16} {metric:4} {len(splits)} splits, {ours} {of[ours].mean():.5g}"
        for model in PEERS:
            difference = sign * (of[ours] - of[model])
            error = difference.std(ddof=1) / len(splits) ** 0.5 if len(splits) > 1 else float("nan")
            text += f"; {model} {of[model].mean():.5g}, {difference.mean():+.4g} +- {error:.2g}"
            if model == "mlp":
                above_mlp += difference.mean() > 0
            else:
                beside_trees += difference.mean() >= -error
                text += " (not worse)" if difference.mean() >= -error else " (WORSE)"
        judged += 1
        print(text)
    print(f"{ours}, of {judged} tables: above the MLP on {above_mlp}, not worse than HistGradientBoosting by more than one "
          f"standard error on {beside_trees}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("tables", nargs="+", type=pathlib.Path)
    running.add_argument("--program", default="detol")
    running.add_argument("--peers", action="store_true")
    running.add_argument("--splits", type=int, default=5)
    running.add_argument("--budget", default="120cpu-s")
    running.add_argument("--spaces")
    running.add_argument("--keep")
    judging = commands.add_parser("verdict")
    judging.add_argument("scores", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    run(arguments) if arguments.command == "run" else verdict(arguments)


if __name__ == "__main__":
    main()

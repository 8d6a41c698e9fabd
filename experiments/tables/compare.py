"""Compares detol on tables with scikit-learn's MLP and HistGradientBoosting.

    compare.py PROGRAM TABLE.csv... [--splits 5] [--budget 120cpu-s]

Every table has a header and its label last; a label of texts or of at most ten different numbers is
a class. Each split holds a fifth out, stratified by class; the area under the ROC curve (classes)
or the root mean squared error (numbers) is of that fifth, by weights that have not seen it. The
peers have their default settings, one-hot categories (ordinal codes for the trees) and, for the
MLP, standardised numbers. One core each. Needs numpy, pandas and scikit-learn.
"""

import argparse
import json
import os
import pathlib
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


def score_of_detol(program, budget, is_class, train, test):
    with tempfile.TemporaryDirectory() as folder:
        train.to_csv(f"{folder}/train.csv", index=False)
        test.to_csv(f"{folder}/test.csv", index=False)
        call = lambda *words: subprocess.run(
            [program, "--storage", f"{folder}/detol.db", *words], capture_output=True, text=True)
        space = "table" if is_class else "table_regression"
        ran = call("search", "--space", space, "--study", "s", "--data", f"{folder}/train.csv",
                   "--set", f"data.test_path={folder}/test.csv",
                   "--set", f"data.label={train.columns[-1]}",
                   "--budget", budget, "-j", "1", "--progress", "none")
        if ran.returncode != 0:
            raise SystemExit(ran.stderr)
        tested = json.loads(call("test", "s", "-f", "json").stdout)
        tested = tested[0] if isinstance(tested, list) else tested
        return tested["test"]["test_auc" if is_class else "test_rmse"]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("tables", nargs="+", type=pathlib.Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--budget", default="120cpu-s")
    arguments = parser.parse_args()
    for path in arguments.tables:
        table = pd.read_csv(path)
        label = table[table.columns[-1]]
        is_class = not pd.api.types.is_numeric_dtype(label) or label.nunique() <= 10
        for seed in range(arguments.splits):
            train, test = train_test_split(table, test_size=0.2, random_state=seed,
                                           stratify=label if is_class else None)
            line = {"table": path.stem, "split": seed, "metric": "auc" if is_class else "rmse"}
            for name in ("hist_gradient_boosting", "mlp"):
                line[name] = round(float(score_of_peer(name, is_class, train, test)), 5)
            line["detol"] = score_of_detol(arguments.program, arguments.budget, is_class, train, test)
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()

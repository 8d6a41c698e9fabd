"""Is the validation score of a search's winner what its test score is? Of the winner by one validation split, and of
the one that the final choice by cross-validation takes.

    gap.py PROGRAM BUDGET TABLE.csv...

One search of each table; prints, of the first objective and of the accuracy (or R2), the winner by value with its
validation and test scores, the chosen trial with its mean over the folds and its test score, and at last the mean
differences. Needs nothing but Python.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

PAIRS = {"loss": ("val_loss", "test_loss"), "accuracy": ("val_accuracy", "test_accuracy"),
         "rmse": ("val_rmse", "test_rmse"), "r2": ("val_r2", "test_r2")}


def ask(program, folder, *words):
    done = subprocess.run([program, *words, "-f", "json"], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def gaps_of(program, budget, table):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "new", "table", "--data", table, "-o", "t.yaml"], cwd=folder, check=True,
                       capture_output=True)
        subprocess.run([program, "search", "--space", "t.yaml", "--budget", budget, "-j", "2", "--set", "study=t"],
                       cwd=folder, check=True, capture_output=True)
        plain = ask(program, folder, "best", "t", "--top", "1")[0]
        chosen = ask(program, folder, "best", "t")
        folds = ask(program, folder, "query", "SELECT trained_on, count(*) AS trials FROM v_models "
                    "WHERE kind = 'cross_validated' GROUP BY first ORDER BY first DESC")
        plain_test = ask(program, folder, "test", "t", "--trial", str(plain["trial"]))["test"]
        if "cross_validation" not in chosen:
            return None
        found = {}
        for name, (val, test) in PAIRS.items():
            if val in plain["values"]:
                found[name] = (abs(plain["values"][val] - plain_test[test]),
                               abs(chosen["cross_validation"][val] - chosen["test"][test]), plain_test[test],
                               chosen["test"][test])
        print(f"{pathlib.Path(table).parent.parent.name}: trial {plain['trial']} -> {chosen['trial']}, {folds[0]}: "
              + "; ".join(f"{name} gap {g[0]:.4f} -> {g[1]:.4f}, test {g[2]:.4f} -> {g[3]:.4f}"
                          for name, g in found.items()), flush=True)
        return found


def main():
    program, budget, *tables = sys.argv[1:]
    program = str(pathlib.Path(program).resolve())
    sums = {}
    for table in tables:
        for name, gap in (gaps_of(program, budget, str(pathlib.Path(table).resolve())) or {}).items():
            sums.setdefault(name, []).append(gap)
    for name, gaps in sums.items():
        before, after = (sum(g[i] for g in gaps) / len(gaps) for i in (0, 1))
        print(f"{name}: mean gap {before:.4f} -> {after:.4f} over {len(gaps)} tables")


main()

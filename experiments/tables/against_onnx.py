"""Runs an exported table model with ONNX Runtime on the raw rows of a CSV file and compares what comes out with
what `detol predict` writes for the same file. Prints the number of rows, the labels that differ and the largest
difference of a probability or, in standard deviations of the predictions, of a prediction. Exits 1 if a label
differs, or anything by more than 1e-4. Needs numpy, pandas and onnxruntime.

    against_onnx.py MODEL.onnx ROWS.csv ANSWERS.csv
"""

import json
import sys

import numpy
import onnxruntime
import pandas


def feeds_of(session, rows):
    columns = json.loads(session.get_modelmeta().custom_metadata_map["detol.columns"])
    if len(session.get_inputs()) == 1 and session.get_inputs()[0].type == "tensor(float)":
        return {"input": rows[[c["column"] for c in columns]].to_numpy(numpy.float32)}
    feeds = {}
    for column in columns:
        cells = rows[column["column"]]
        if column["kind"] == "category":
            cells = cells.fillna("").astype(str).to_numpy(dtype=object)
        elif column["kind"] == "date":
            days = pandas.to_datetime(cells) - pandas.Timestamp("1970-01-01")
            cells = (days / pandas.Timedelta(days=1)).to_numpy(numpy.float32)
        else:
            cells = pandas.to_numeric(cells, errors="coerce").to_numpy(numpy.float32)
        feeds[column["input"]] = cells.reshape(-1, 1)
    return feeds


def main():
    model, rows_path, answers_path = sys.argv[1:]
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    rows = pandas.read_csv(rows_path, dtype={
        c["column"]: str
        for c in json.loads(session.get_modelmeta().custom_metadata_map["detol.columns"])
        if c["kind"] == "category"}, keep_default_na=True)
    answers = pandas.read_csv(answers_path)
    outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds_of(session, rows))))
    if "prediction" in outputs:
        expected = answers.filter(regex="^predictions?").to_numpy()
        worst = numpy.max(numpy.abs(outputs["prediction"] - expected)) / numpy.std(expected)
        labels = 0
    else:
        worst = numpy.max(numpy.abs(outputs["probabilities"] - answers.filter(regex="^probabilities").to_numpy()))
        labels = int(numpy.sum(outputs["label"].astype(str) != answers["label"].astype(str)))
    print(f"{model}: {len(rows)} rows, {labels} labels differ, largest difference {worst:.2g}")
    sys.exit(1 if labels or not worst < 1e-4 else 0)


main()

// Trial files: what is read of CSV and JSON, and what is written.

#include "studies/trial_file.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

constexpr const char* kSpace = R"(version: 1
study: imported
parameters:
  op: {type: categorical, choices: [sgd, adamw]}
  lr: {type: float, low: 1.0e-4, high: 1.0e-1, log: true}
  momentum: {type: float, low: 0.8, high: 0.99, when: {op: sgd}}
  depth: {type: categorical, choices: [None, 10]}
table: {path: none.csv, key: [op, lr, momentum, depth], metrics: {val_accuracy: accuracy, val_loss: loss}}
objectives: [{metric: val_accuracy, direction: maximize}, {metric: val_loss, direction: minimize}]
)";

using Histories = std::vector<TrialHistory>;

Result<Histories> read(const std::string& text, const std::string& from = "",
                       const std::string& metric = "val_accuracy") {
  static const StudyConfig config = load_study_config(kSpace, "space.yaml").value();
  return read_trial_file({"t", from, metric}, text, config);
}

Histories trials_in(const std::string& text, const std::string& from = "") {
  const auto trials = read(text, from);
  EXPECT_TRUE(trials) << trials.error().message;
  return trials.value_or(Histories());
}

void expect_refused(const std::string& text, const std::string& says) {
  const auto trials = read(text);
  ASSERT_FALSE(trials) << text;
  EXPECT_EQ(trials.error().code, ErrorCode::kInput);
  EXPECT_NE(trials.error().message.find(says), std::string::npos) << trials.error().message;
  EXPECT_EQ(trials.error().message.find('\n'), std::string::npos) << trials.error().message;
}

// Returns a history as text: "PRUNED op=sgd | 1 val_loss=0.5 | 2".
std::string line_of(const TrialHistory& trial) {
  std::string text(to_text(trial.state));
  if (trial.failure) text += fmt::format(" {}", to_text(*trial.failure));
  for (const auto& [name, value] : trial.params)
    text += fmt::format(" {}={}", name, detol::to_text(value));
  for (const EpochMetrics& epoch : trial.curve) {
    text += fmt::format(" | {}", epoch.epoch);
    for (const auto& [name, value] : epoch.metrics) text += fmt::format(" {}={}", name, value);
  }
  return text;
}

std::vector<std::string> lines_of(const Histories& trials) {
  std::vector<std::string> lines;
  for (const TrialHistory& trial : trials) lines.push_back(line_of(trial));
  return lines;
}

using Lines = std::vector<std::string>;

TEST(TrialFile, OfCsvHasARowForEachEpoch) {
  EXPECT_EQ(
      lines_of(trials_in("trial,state,epoch,op,lr,momentum,val_accuracy,note\n"
                         "a,,1,sgd,0.01,0.9,0.5,x\n"
                         "b,PRUNED,1,adamw,0.001,,0.25,\n"
                         "a,COMPLETE,2,sgd,0.01,0.9,0.75,x\n"
                         "c,FAIL,,adamw,0.1,,,\n")),
      (Lines{"COMPLETE op=sgd lr=0.01 momentum=0.9 | 1 val_accuracy=0.5 | 2 val_accuracy=0.75",
             "PRUNED op=adamw lr=0.001 | 1 val_accuracy=0.25", "FAIL op=adamw lr=0.1"}));
}

TEST(TrialFile, OfOptunasTableIsReadToo) {
  EXPECT_EQ(lines_of(trials_in(",number,value,datetime_start,params_op,params_lr,state\n"
                               "0,4,0.5,2026-01-01,sgd,0.01,COMPLETE\n"
                               "1,7,0.25,2026-01-02,adamw,0.001,PRUNED\n")),
            (Lines{"COMPLETE op=sgd lr=0.01 | 0 val_accuracy=0.5",
                   "PRUNED op=adamw lr=0.001 | 0 val_accuracy=0.25"}));
  EXPECT_EQ(lines_of(trials_in("params_op,values_0,values_1\nadamw,0.75,0.5\n")),
            Lines{"COMPLETE op=adamw | 0 val_accuracy=0.75 val_loss=0.5"});
}

TEST(TrialFile, OfCsvMayHaveSemicolonsTabsAndDecimalCommas) {
  const Lines one = {"COMPLETE op=adamw lr=0.01 | 0 val_accuracy=0.5"};
  EXPECT_EQ(lines_of(trials_in("sep=;\nop;lr;val_accuracy\nadamw;0,01;0,5\n")), one);
  EXPECT_EQ(lines_of(trials_in("op\tlr\tval_accuracy\nadamw\t0.01\t0.5\n")), one);
}

TEST(TrialFile, HasTheNamedObjectiveInAColumnCalledValue) {
  const auto trials = read("op,value,val_accuracy\nadamw,0.5,0.75\n", "", "val_loss").value();
  EXPECT_EQ(line_of(trials.front()), "COMPLETE op=adamw | 0 val_loss=0.5 val_accuracy=0.75");
}

TEST(TrialFile, OfJsonHasValuesOrCurvesByLineOrInAnArray) {
  const std::string value = R"({"params": {"op": "adamw", "lr": 0.01}, "value": 0.5})";
  const std::string curve =
      R"({"params": {"op": "adamw"}, "state": "PRUNED", )"
      R"("curve": [{"epoch": 1, "val_accuracy": 0.25}, {"epoch": 4, "val_accuracy": 1}]})";
  const Lines both = {"COMPLETE lr=0.01 op=adamw | 0 val_accuracy=0.5",
                      "PRUNED op=adamw | 1 val_accuracy=0.25 | 4 val_accuracy=1"};
  EXPECT_EQ(lines_of(trials_in(value + "\n\n" + curve + "\n")), both);
  EXPECT_EQ(lines_of(trials_in("[" + value + ",\n" + curve + "]")), both);
  expect_refused(value + "\n" + curve.substr(0, curve.size() - 2) + ",\n]}", "t:2: it is not JSON");
}

// As in a space file that is made of a table, and in what Python writes.
TEST(TrialFile, HasNullForTheChoiceNoneOfAParameterThatHasIt) {
  EXPECT_EQ(lines_of(trials_in(R"({"params": {"depth": null, "op": null}, "value": 0.5})")),
            Lines{"COMPLETE depth=None | 0 val_accuracy=0.5"});
}

TEST(TrialFile, HasItsFinalValuesInTheBestEpoch) {
  const std::string curve = R"("curve": [{"epoch": 1}, {"epoch": 2, "val_accuracy": 0.6}])";
  const Histories trials =
      trials_in(R"({"best_epoch": 1, "values": {"val_accuracy": 0.9}, )" + curve + "}");
  EXPECT_EQ(line_of(trials.front()), "COMPLETE | 1 val_accuracy=0.9 | 2 val_accuracy=0.6");
  EXPECT_EQ(trials.front().best_epoch, 1);
  expect_refused(R"({"best_epoch": 3, )" + curve + "}", "best_epoch must be an epoch of the curve");
}

TEST(TrialFile, SaysWhyATrialFailed) {
  EXPECT_EQ(lines_of(trials_in("op,failure\nadamw,oom\nsgd,diverged\n")),
            (Lines{"FAIL oom op=adamw", "FAIL diverged op=sgd"}));
  expect_refused("op,failure\nadamw,bored\n", "t:2: failure is 'bored'; it must be");
}

TEST(TrialFile, OfSeveralStudiesNeedsTheNameOfOne) {
  const std::string text = "study,op,val_accuracy\na,sgd,0.5\nb,adamw,0.75\n";
  EXPECT_EQ(lines_of(trials_in(text, "b")), Lines{"COMPLETE op=adamw | 0 val_accuracy=0.75"});
  for (const char* from : {"", "c"}) {
    const auto trials = read(text, from);
    ASSERT_FALSE(trials);
    EXPECT_EQ(trials.error().code, ErrorCode::kUsage);
  }
}

TEST(TrialFile, NamesTheLineOfABadRow) {
  expect_refused("op,lr,val_accuracy\nadamw,0.01,high\n", "t:2:12: val_accuracy is 'high'");
  expect_refused("op,state\nadamw,DONE\n", "t:2: unknown state 'DONE'");
  expect_refused("op,epoch\nadamw,0\n", "an epoch must be a whole number from 1");
  expect_refused("op,epoch\nadamw,1.5\n", "an epoch must be a whole number from 1");
  expect_refused("op,params.op\nadamw,sgd\n", "two columns of this name");
  expect_refused("trial,op,val_accuracy\n1,adamw,0.5\n1,adamw,0.6\n", "t:3: trial '1' is there tw");
  expect_refused("trial,op,epoch\n1,adamw,1\n1,sgd,2\n", "t:3: trial '1' has other parameters th");
  expect_refused("trial,op,epoch,val_loss\n1,sgd,2,1\n1,sgd,1,1\n", "t:3: trial '1' is there twi");
}

TEST(TrialFile, NamesTheLineOfBadJson) {
  expect_refused("{\"params\": {}}\n{]\n", "t:2: it is not JSON from byte 2 on");
  expect_refused("{\"lr\": 0.01, \"val_accuracy\": 0.5}", "t:1: 'lr' must stand in \"params\": {");
  expect_refused("{\"params\": 3}", "t:1: params must be an object");
  expect_refused("{\"params\": {\"lr\": [1]}}", "t:1: lr must be text, a number or a bool");
  expect_refused("{\"state\": 3}", "t:1: state must be text");
  expect_refused("{\"values\": {\"val_loss\": true}}", "t:1: val_loss must be a number");
  expect_refused("{\"curve\": [{\"epoch\": 0}]}", "t:1: an epoch must be a whole number from 1");
  expect_refused("{\"curve\": [{\"epoch\": 18446744073709551615}]}", "an epoch must be a whole nu");
  expect_refused("{\"curve\": [{\"epoch\": 2}, {\"epoch\": 2}]}",
                 "the epochs of a curve must grow");
  expect_refused("[1]", "t: element 0: it is no JSON object");
  expect_refused("[1", "it is not JSON from byte 3 on");
  const std::string deep(200'000, '[');
  for (const std::string key : {"values", "value", "params", "curve", "state", "else"})
    expect_refused("{\"" + key + "\": " + deep + std::string(200'000, ']') + "}",
                   "t:1: it is nested more than 64 deep");
  expect_refused(deep, "it is nested more than 64 deep");
}

TrialHistory history(std::vector<EpochMetrics> curve) {
  return {.params = {{"op", std::string("sgd")}, {"lr", 0.25}, {"on", true}},
          .curve = std::move(curve)};
}

TEST(TrialExport, HasTheMetricsOfTheBestEpochAndTheLengthOfTheTraining) {
  TrialHistory trial = history({{1, {{"acc", 0.9}}}, {2, {{"acc", 0.6}}}});
  trial.best_epoch = 1;
  TrialHistory failed{.state = TrialState::kFail, .params = {}, .curve = {}};
  failed.failure = Cause::kCrashed;
  const Rows table = trial_table({{.study = {}, .trials = {trial, failed}}});
  EXPECT_EQ(table.columns, (std::vector<std::string>{"trial", "state", "epoch", "failure", "op",
                                                     "lr", "on", "acc"}));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0],
            (std::vector<Cell>{std::int64_t{0}, std::string("COMPLETE"), std::int64_t{2}, Cell(),
                               std::string("sgd"), 0.25, std::string("true"), 0.9}));
  EXPECT_EQ(table.rows[1][3], Cell(std::string("crashed")));
  EXPECT_EQ(table.rows[1][7], Cell());
}

TEST(TrialExport, PrefixesANameThatIsTaken) {
  TrialHistory trial = history({{1, {{"lr", 3}, {"epoch", 4}}}});
  trial.params.emplace_back("trial", std::int64_t{5});
  const Rows table = trial_table({{.study = {}, .trials = {trial}}});
  EXPECT_EQ(table.columns,
            (std::vector<std::string>{"trial", "state", "epoch", "failure", "op", "lr", "on",
                                      "params.trial", "values.lr", "values.epoch"}));
  EXPECT_EQ(table.rows[0][7], Cell(std::int64_t{5}));
  EXPECT_EQ(table.rows[0][8], Cell(3.0));
}

TEST(TrialExport, OfSeveralStudiesNamesThem) {
  NamedHistories a{.study = {}, .trials = {history({{1, {{"acc", 0.5}}}})}};
  NamedHistories b{.study = {}, .trials = {history({{1, {{"loss", 0.25}}}})}};
  a.study.name = "a";
  b.study.name = "b";
  const Rows table = trial_table({a, b});
  EXPECT_EQ(table.columns.front(), "study");
  EXPECT_EQ(table.columns.back(), "loss");
  EXPECT_EQ(table.rows[0].front(), Cell(std::string("a")));
  EXPECT_EQ(table.rows[0].back(), Cell()) << "a has no such metric";
  EXPECT_EQ(table.rows[1].front(), Cell(std::string("b")));
  EXPECT_NE(trials_json({a, b}).find(R"({"study":"b","trial":0,)"), std::string::npos);
}

TEST(TrialExport, OfJsonHasTheCurvesATrialALine) {
  TrialHistory trial = history({{1, {{"acc", 0.5}}}, {2, {{"acc", 0.25}}}});
  trial.best_epoch = 1;
  const TrialHistory other = history({});
  EXPECT_EQ(trials_json({{.study = {}, .trials = {trial, other}}}),
            "[\n"
            R"({"trial":0,"state":"COMPLETE","params":{"op":"sgd","lr":0.25,"on":true},)"
            R"("values":{"acc":0.5},"best_epoch":1,)"
            R"("curve":[{"epoch":1,"acc":0.5},{"epoch":2,"acc":0.25}]},)"
            "\n"
            R"({"trial":1,"state":"COMPLETE","params":{"op":"sgd","lr":0.25,"on":true},)"
            R"("values":{},"curve":[]})"
            "\n]\n");
}

}  // namespace
}  // namespace detol

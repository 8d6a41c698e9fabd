#include <nlohmann/json.hpp>

#include "core/log.h"
#include "studies/trial_file.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/targets.h"

namespace detol::fuzz {
namespace {

constexpr const char* kSpace = R"(version: 1
study: imported
parameters:
  op: {type: categorical, choices: [sgd, adamw]}
  lr: {type: float, low: 1.0e-4, high: 1.0e-1, log: true}
  depth: {type: int, low: 1, high: 8}
  bias: {type: bool}
  momentum: {type: float, low: 0.8, high: 0.99, when: {op: sgd}}
table: {path: none.csv, key: [op, lr, depth, bias, momentum], metrics: {accuracy: a, loss: l}}
objectives: [{metric: accuracy, direction: maximize}]
search: {algorithm: random}
budget: 10trials
)";

const StudyConfig& config() {
  static const StudyConfig kConfig = [] {
    (void)set_up_log(
        {.level = LogLevel::kError, .file = {}});  // a warning names columns that are left out
    return load_study_config(kSpace, "space.yaml").value();
  }();
  return kConfig;
}

Result<std::vector<TrialHistory>> read(std::string_view bytes) {
  return read_trial_file({.path = "trials", .from = {}, .metric = "accuracy"}, bytes, config());
}

void check_curve(const TrialHistory& trial) {
  int last = -1;
  for (const EpochMetrics& epoch : trial.curve) {
    promise(epoch.epoch > last, "epochs that do not grow");
    last = epoch.epoch;
    for (const auto& metric : epoch.metrics)
      promise(metric.first == "accuracy" || metric.first == "loss", "a metric of no space");
  }
}

// Writes the trials that fit the space as `db export` does, and reads them again.
void use(std::vector<TrialHistory> trials) {
  for (const TrialHistory& trial : trials) check_curve(trial);
  std::erase_if(trials, [](const TrialHistory& trial) {
    const bool has_epochs = trial.curve.empty() || trial.curve.front().epoch > 0;
    return !has_epochs || !config().space.genome(trial.params);
  });
  const std::string exported = trials_json({{.study = {}, .trials = trials}});
  const auto again = read(exported);
  promise(again.has_value(), "an export cannot be read");
  const std::string twice = trials_json({{.study = {}, .trials = *again}});
  promise(nlohmann::json::parse(twice) == nlohmann::json::parse(exported),
          "an export is read as other trials");
}

}  // namespace

void fuzz_trials(std::string_view bytes) {
  auto trials = read(bytes);
  if (trials) return use(std::move(*trials));
  const bool is_usage = trials.error().code == ErrorCode::kUsage;  // several studies in the file
  promise_one_line(trials.error(), is_usage ? ErrorCode::kUsage : ErrorCode::kInput);
  promise(trials.error().message.starts_with("trials"), trials.error().message);
}

std::vector<std::string> trials_seeds() {
  return {
      "trial,state,op,lr,depth,bias,momentum,epoch,accuracy,loss\n"
      "0,COMPLETE,sgd,0.01,3,true,0.9,1,0.5,1.5\n0,COMPLETE,sgd,0.01,3,true,0.9,2,0.75,NaN\n"
      "1,FAIL,adamw,0.001,4,0,,,,\n",
      "study,params.lr,value,failure,\"a \"\"b\"\"\"\ns,0.1,1e-3,,x\r\ns,0.02,,oom,\n",
      R"({"params": {"op": "adamw", "lr": 0.1, "depth": 2, "bias": false}, "value": 0.9})"
      "\n"
      R"({"params": {"lr": null}, "state": "FAIL", "failure": "diverged", "values": {}})",
      R"([{"params": {"op": "sgd", "lr": 0.01, "depth": 1, "bias": true, "momentum": 0.9},
           "values": {"accuracy": 0.8, "loss": "NaN"}, "state": "PRUNED",
           "curve": [{"epoch": 1, "accuracy": 0.7}, {"epoch": 3, "accuracy": 0.8}]}])"};
}

}  // namespace detol::fuzz

#include "cli/model_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/run_options.h"
#include "core/exit_code.h"
#include "core/log.h"
#include "models/test_score.h"
#include "printing/output.h"
#include "scheduler/run/devices.h"
#include "studies/best_trial.h"

namespace detol::inline cli {
namespace {

constexpr int kMostEpochs = 100000;  // as training.epochs

Rows rows_of(const std::vector<event::Model>& models) {
  Rows rows{.columns = {"model", "trial", "state", "failure", "reason", "seed", "epochs",
                        "trained_on", "began_from", "values", "test", "test_interval"},
            .rows = {}};
  for (const event::Model& model : models) {
    rows.rows.push_back({model.model, static_cast<std::int64_t>(model.trial),
                         std::string(to_text(model.state)), model.failure, model.reason, model.seed,
                         model.epochs, model.trained_on, model.began_from, values_json(model),
                         test_json(model), interval_json(model)});
  }
  return rows;
}

Rows shown(const std::vector<event::Model>& models, const Globals& globals) {
  Rows rows = rows_of(models);
  if (globals.format != Format::kTable) return rows;
  Rows shown{.columns = {"model", "trial", "state", "epochs", "test", "test_interval"}, .rows = {}};
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    auto& cells = shown.rows.emplace_back();
    for (const std::string& name : shown.columns) cells.push_back(cell(rows, i, name));
  }
  return shown;
}

void say_spread(const OpenStudy& study, const std::vector<event::Model>& models) {
  std::vector<event::Model> tested;
  std::ranges::copy_if(models, std::back_inserter(tested), [](const event::Model& model) {
    return model.state == ModelState::kComplete;
  });
  if (tested.size() == 1) {
    log_info("model {} of trial {}: {}", tested[0].model, tested[0].trial,
             with_interval(tested[0], said_metric(study, tested[0])));
  }
  if (tested.size() < 2) return;
  std::string text;
  for (const auto& [metric, low, high] : tested[0].intervals)
    text += (text.empty() ? "" : ", ") + with_deviation(tested, metric);
  log_info("trial {}, mean and standard deviation of {} models: {}", tested[0].trial, tested.size(),
           text);
}

}  // namespace

Result<void> check_one_is_chosen(const Arguments& arguments) {
  if (!arguments.has("trial") || !arguments.has("model")) return {};
  return usage_error("--trial and --model exclude each other; give one of them");
}

Option threshold_option() {
  return {"--threshold", "P|METRIC",
          "choose the second of two classes, or a label, above this probability; or above that "
          "with the best accuracy, f1, balanced_accuracy or mcc in validation; default: 0.5"};
}

Result<std::optional<ThresholdRequest>> threshold_from(const Arguments& arguments) {
  if (!arguments.has("threshold")) return std::nullopt;
  DETOL_ASSIGN(ThresholdRequest request, models::threshold_from(arguments.text("threshold")));
  return request;
}

Result<int> number_at_most(const Arguments& arguments, std::string_view key, int otherwise,
                           int most) {
  DETOL_ASSIGN(const auto number, arguments.number(key, 1));
  if (number.value_or(otherwise) <= most) return static_cast<int>(number.value_or(otherwise));
  return usage_error("{} is {}; it must be at most {}", key, *number, most);
}

Result<int> epochs_from(const Arguments& arguments, const StudyConfig& config) {
  return number_at_most(arguments, "epochs", config.max_epochs, kMostEpochs);
}

Option workers_option() {
  return {"-j,--workers", "N|auto",
          "models that are trained at a time; auto: one on each core or GPU; default: auto"};
}

Option device_option() {
  return one_of("--device", "DEVICE", "what trains; auto: what trained the study; default: auto",
                {"auto", "cpu", "cuda"});
}

Result<RunOptions> training_options_of(const Arguments& arguments, const OpenStudy& study,
                                       const StudyData& shared) {
  RunOptions options;
  options.config = shared.config;
  options.storage = arguments.globals.storage;
  DETOL_ASSIGN(options.workers, workers_from(arguments));
  if (options.workers == kNoWorkers) return usage_error("workers is 0; it must be at least 1");
  DETOL_ASSIGN(const std::string before, last_backend(options.storage, study.record.name));
  DETOL_TRY(choose_device({.device = arguments.text("device", "auto"),
                           .budget = {},
                           .previous_backend = before,
                           .data = shared.data->info},
                          options));
  return options;
}

Result<ParentModel> parent_from(const Arguments& arguments, const OpenStudy& study,
                                StudyData& shared) {
  DETOL_TRY(check_one_is_chosen(arguments));
  return parent_of(study, arguments.globals.storage,
                   {arguments.text("trial", "best"), arguments.maybe("model")}, shared);
}

void say_parent(const OpenStudy& study, const ParentModel& parent) {
  if (parent.tested.state != ModelState::kComplete) return;
  log_info("before: {}", with_interval(parent.tested, said_metric(study, parent.tested)));
}

Result<void> show_models(const OpenStudy& study, const std::vector<event::Model>& models,
                         const Globals& globals) {
  DETOL_TRY(print_rows(shown(models, globals), globals));
  say_spread(study, models);
  return {};
}

Result<int> train_and_show(const Retraining& work, ModelRecord& record,
                           std::vector<event::Model>& models, const Globals& globals) {
  DETOL_ASSIGN(const bool is_done, train_models(work, record, models));
  if (!is_done) {
    log_info("stopped; the same command goes on");
    return kExitResumable;
  }
  DETOL_TRY(show_models(work.study, models, globals));
  const auto failed = std::ranges::count(models, ModelState::kFailed, &event::Model::state);
  if (std::cmp_less(failed, models.size())) return kExitDone;
  return fail(ErrorCode::kFailures,
              fmt::format("no model of trial {} could be trained (see above); take another trial",
                          work.trial));
}

}  // namespace detol::inline cli

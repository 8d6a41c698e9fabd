#include "models/test_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/clock.h"
#include "core/exit_code.h"
#include "core/hash.h"
#include "core/log.h"
#include "models/stop_signals.h"
#include "scheduler/launchers/gpus.h"
#include "scheduler/run/devices.h"
#include "scheduler/trial_seed.h"
#include "studies/best_trial.h"
#include "studies/final_choice.h"

namespace detol::inline models {
namespace {

// Returns ", 0.93 by cross-validation (2 of 5 folds)", if that was done.
std::string over_folds(const OpenStudy& study, TrialId trial, const std::string& objective) {
  const auto models = models_of(study);
  const event::Model* found = models ? cross_validated(*models, trial) : nullptr;
  const auto value = found != nullptr ? metric_of(*found, objective) : std::nullopt;
  if (!value) return "";
  return fmt::format(", {:.4g} by cross-validation ({})", *value, found->trained_on);
}

std::string sentence(const OpenStudy& study, const TrialSummary& best, const event::Model& model) {
  const std::string metric = said_metric(study, model);
  const std::string objective = study.record.objectives.front().metric;
  return fmt::format("trial {}: {}, {} {:.4g}{}", model.trial, with_interval(model, metric),
                     objective, metric_of(best, objective),
                     over_folds(study, model.trial, objective));
}

Result<void> test_best(const std::filesystem::path& storage, const std::string& name) {
  DETOL_ASSIGN(const OpenStudy study, open_study(storage, name));
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, name));
  if (!config.trains()) return {};
  const auto best = trial_called(study, "best");
  if (!best) return {};  // the run has said so
  TestBench bench(study, storage);
  const auto model = bench.of_trial(*best);
  if (!model) return tl::unexpected(model.error());
  log_info("{}", sentence(study, *best, *model));
  return {};
}

}  // namespace

std::string said_metric(const OpenStudy& study, const event::Model& model) {
  const std::string& objective = study.record.objectives.front().metric;
  const std::string twin = objective.starts_with("val_") ? "test_" + objective.substr(4) : "";
  const auto found = std::ranges::find(model.intervals, twin, &event::Interval::metric);
  return found != model.intervals.end() ? twin : model.intervals.front().metric;
}

std::string with_interval(const event::Model& model, std::string_view metric) {
  const auto interval = std::ranges::find(model.intervals, metric, &event::Interval::metric);
  return fmt::format("{} {:.4g} (95 % interval {:.4g} to {:.4g})", metric,
                     *metric_of(model, metric), interval->low, interval->high);
}

std::string with_deviation(std::span<const event::Model> models, std::string_view metric) {
  double sum = 0, squares = 0;
  for (const event::Model& model : models) sum += metric_of(model, metric).value_or(NAN);
  const auto count = static_cast<double>(models.size());
  const double mean = sum / count;
  for (const event::Model& model : models)
    squares += std::pow(metric_of(model, metric).value_or(NAN) - mean, 2);
  return fmt::format("{} {:.4g} ± {:.2g}", metric, mean, std::sqrt(squares / (count - 1)));
}

Result<void> check_has_test(const OpenStudy& study, const StudyData& shared) {
  if (shared.data->info.test > 0) return {};
  return fail(ErrorCode::kEmpty,
              fmt::format("the data of study {} have no test part", study.record.name));
}

void add_metrics(const std::vector<TestMetric>& metrics, event::Model& model) {
  for (const auto& [name, value, interval] : metrics) {
    model.metrics.emplace_back(name, value);
    model.intervals.push_back({name, interval.low, interval.high});
  }
}

std::string inference_backend(const std::filesystem::path& storage, const std::string& study) {
  std::string trained_by = last_backend(storage, study).value_or("");
  if (trained_by != "cudnn") return "cpu";
  const auto gpus = gpus_to_join("auto", trained_by);
  if (!gpus) return "cpu";
  select_gpus(*gpus, 0);
  return trained_by;
}

Result<const StudyData*> TestBench::data() {
  if (!data_) {
    DETOL_ASSIGN(data_, load_study_data(study_));
  }
  return &*data_;
}

Result<event::Model> TestBench::of_trial(const TrialSummary& trial) {
  DETOL_ASSIGN(const auto models, models_of(study_));
  if (const event::Model* known = tested(models, trial.id, trial.best_epoch)) return *known;
  DETOL_ASSIGN(const StudyData* shared, data());
  DETOL_TRY(check_has_test(study_, *shared));
  DETOL_ASSIGN(const TrainedNetwork network, trained_network(study_, *shared, storage_, trial));
  DETOL_ASSIGN(event::Model model, measure(network));
  auto record = ModelRecord::open(storage_, study_.record.name);
  const auto saved = record ? record->models().and_then([&](const auto& all) {
    model.model = model.first = next_number(all);
    return record->save({&model, 1});
  })
                            : Result<void>(tl::unexpected(record.error()));
  if (!saved) log_info("the test metrics are not recorded: {}", saved.error().message);
  return model;
}

Result<event::Model> TestBench::measure(const TrainedNetwork& network) {
  constexpr std::int64_t kMany = 5000;  // records, which take long enough to wonder
  const Candidate& candidate = network.candidate;
  const std::int64_t records = data_->data->info.test;
  if (records >= kMany) log_info("testing trial {} on {} records", network.trial, records);
  const auto metrics =
      test_metrics(candidate.network, best_weights(network.checkpoint), candidate.recipe,
                   *data_->data, inference_backend(storage_, study_.record.name));
  if (!metrics) return tl::unexpected(metrics.error());
  const std::uint64_t seed = trial_seed(data_->config.seed, network.trial);
  event::Model model{.trial = network.trial,
                     .kind = ModelKind::kTestedTrial,
                     .state = ModelState::kComplete,
                     .seed = std::bit_cast<std::int64_t>(seed),
                     .epochs = network.best_epoch,
                     .trained_on = kOnTraining,
                     .began_from = kFromScratch,
                     .network_params = candidate.cost.params,
                     .flops = candidate.cost.flops,
                     .dataset = to_hex(study_.record.data_fingerprint),
                     .folder = std::to_string(network.trial),
                     .at_s = system_clock().wall_s()};
  for (const auto& [name, value] : best_report(network.checkpoint)->metrics)
    model.metrics.emplace_back(name, value);
  add_metrics(*metrics, model);
  return model;
}

void say_test_score(const std::filesystem::path& storage, const std::string& study) {
  const ExitAtSignals signals(kExitDone);
  const auto done = test_best(storage, study);
  if (!done && done.error().code != ErrorCode::kEmpty)
    log_warning("the test score is not known: {}", done.error().message);
}

}  // namespace detol::inline models

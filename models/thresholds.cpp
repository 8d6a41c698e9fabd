#include "models/thresholds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/log.h"
#include "core/table.h"
#include "models/retraining.h"
#include "models/test_score.h"

namespace detol::inline models {
namespace {

Result<void> check_can_tune(const StudyData& shared, const std::string& trained_on) {
  if (trained_on == kOnValidationToo)
    return fail(ErrorCode::kUsage,
                "the model was trained on the validation part, which cannot choose its threshold; "
                "give --threshold a number");
  if (shared.data->info.validation > 0) return {};
  return fail(ErrorCode::kUsage,
              "the data have no validation part to choose by; give --threshold a number");
}

}  // namespace

Result<ThresholdRequest> threshold_from(const std::string& text) {
  ThresholdRequest request;
  if (std::ranges::find(decision_metrics(), text) != decision_metrics().end()) {
    request.metric = text;
    return request;
  }
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, request.value);
  if (error == std::errc() && rest == end && request.value > 0 && request.value < 1) return request;
  return fail(ErrorCode::kUsage,
              fmt::format("threshold is {}; it must be a number between 0 and 1, or one of {}",
                          in_quotes(text), fmt::join(decision_metrics(), ", ")));
}

Result<void> check_has_threshold(const Task& task) {
  if (has_threshold(task)) return {};
  return fail(ErrorCode::kUsage, fmt::format("--threshold is for two classes or labels; this is a "
                                             "{} of {} outputs",
                                             row_of(task.kind).name, task.classes));
}

Result<double> threshold_for(const ThresholdRequest& request, const Voters& network,
                             const StudyData& shared, const std::string& trained_on,
                             const std::string& backend) {
  const Task& task = shared.preprocessing.task;
  DETOL_TRY(check_has_threshold(task));
  if (request.metric.empty()) return request.value;
  DETOL_TRY(check_can_tune(shared, trained_on));
  const Dataset& data = *shared.data;
  const Range validation = range_of(data.info, DataSplit::kValidation);
  DETOL_ASSIGN(const auto outputs, outputs_of(network, data, validation, backend));
  const Recipe recipe{.loss = std::string(row_of(task.kind).losses.front())};
  const double threshold = best_threshold(request.metric, data, validation, outputs, recipe);
  log_info("threshold {:.4g}, the best of validation by {}", threshold, request.metric);
  return threshold;
}

Result<ThresholdScore> score_at(const ThresholdRequest& request, const TrainedNetwork& network,
                                const StudyData& shared, const std::string& trained_on,
                                const std::string& backend) {
  const Voters voters{network.candidate.network, best_weights(network.checkpoint), network.shares};
  const Dataset& data = *shared.data;
  ThresholdScore score;
  DETOL_ASSIGN(score.threshold, threshold_for(request, voters, shared, trained_on, backend));
  const Range test = range_of(data.info, DataSplit::kTest);
  DETOL_ASSIGN(const auto outputs, outputs_of(voters, data, test, backend));
  add_metrics(metrics_at(score.threshold, data, test, outputs, network.candidate.recipe),
              score.measured);
  return score;
}

}  // namespace detol::inline models

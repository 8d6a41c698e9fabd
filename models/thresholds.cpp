#include "models/thresholds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/log.h"
#include "core/table.h"
#include "models/retraining.h"

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

}  // namespace detol::inline models

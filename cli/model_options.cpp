#include "cli/model_options.h"

namespace detol::inline cli {

Result<void> check_one_is_chosen(const Arguments& arguments) {
  if (!arguments.has("trial") || !arguments.has("model")) return {};
  return fail(ErrorCode::kUsage, "--trial and --model exclude each other; give one of them");
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

}  // namespace detol::inline cli

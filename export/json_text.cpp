#include "export/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace detol::inline exporting {

using nlohmann::json;

json number_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Result<double> number_from(const json& value, std::string_view what) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return fail(ErrorCode::kInput, fmt::format("{} is no number", what));
}

std::string as_utf8(const std::string& text) {
  return json_or_discarded(compact(json(text))).get<std::string>();
}

}  // namespace detol::inline exporting

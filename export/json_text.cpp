#include "export/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace detol::inline exporting {
namespace {

using nlohmann::json;

constexpr std::size_t kLongest = std::size_t{8} << 20;
constexpr int kDeepest = 16;  // our own documents are at most 4 deep

}  // namespace

Result<json> parse_json(std::string_view text, std::string_view what) {
  if (text.size() > kLongest)
    return fail(ErrorCode::kInput, fmt::format("{} is longer than 8 MB", what));
  const auto shallow = [](int depth, json::parse_event_t, const json&) {
    if (depth > kDeepest) throw json::other_error::create(501, "it is nested too deep", nullptr);
    return true;
  };
  try {
    return json::parse(text, shallow);
  } catch (const json::parse_error& error) {
    return fail(ErrorCode::kInput, fmt::format("{} is not JSON from byte {} on", what, error.byte));
  } catch (const json::exception&) {
    return fail(ErrorCode::kInput,
                fmt::format("{} is JSON nested more than {} deep", what, kDeepest));
  }
}

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
  return json::parse(compact(json(text))).get<std::string>();
}

}  // namespace detol::inline exporting

#include "core/json_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

namespace detol::inline core {
namespace {

// Returns why the text is refused unread; empty if it is not. Up to its first mistake a text nests
// as its brackets outside of quotes do, and the parser reads no further.
std::string excess(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    return fmt::format("has {} bytes, more than {}", text.size(), limits.bytes);
  bool is_quoted = false;
  int depth = 0;
  std::size_t values = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '\\') ++i;
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted) continue;
    const bool opens = c == '[' || c == '{';
    depth += opens ? 1 : c == ']' || c == '}' ? -1 : 0;
    values += opens || c == ',' ? 1 : 0;
    if (depth > limits.depth) return fmt::format("is nested more than {} deep", limits.depth);
    if (values > limits.values) return fmt::format("has more than {} values", limits.values);
  }
  return {};
}

}  // namespace

template <typename Json>
Result<Json> parse_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
  if (const std::string why = excess(text, limits); !why.empty())
    return fail(ErrorCode::kInput, fmt::format("{} {}", what, why));
  try {
    return Json::parse(text);
  } catch (const typename Json::parse_error& error) {
    return fail(ErrorCode::kInput, fmt::format("{} is not JSON from byte {} on", what, error.byte));
  } catch (const typename Json::exception&) {
    return fail(ErrorCode::kInput, fmt::format("{} has a number that is out of range", what));
  }
}

template <typename Json>
Json json_or_discarded(std::string_view text, const JsonLimits& limits) {
  if (!excess(text, limits).empty()) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

template Result<nlohmann::json> parse_json(std::string_view, std::string_view, const JsonLimits&);
template Result<nlohmann::ordered_json> parse_json(std::string_view, std::string_view,
                                                   const JsonLimits&);
template nlohmann::json json_or_discarded(std::string_view, const JsonLimits&);
template nlohmann::ordered_json json_or_discarded(std::string_view, const JsonLimits&);

bool is_json(std::string_view text, const JsonLimits& limits) {
  return excess(text, limits).empty() && nlohmann::json::accept(text);
}

template <typename T>
T field_or(const nlohmann::json& object, const char* key, T otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if constexpr (std::is_same_v<T, bool>) {
    return found->is_boolean() ? found->get<bool>() : otherwise;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return found->is_string() ? found->get<std::string>() : otherwise;
  } else if constexpr (std::is_same_v<T, double>) {
    return found->is_number() ? found->get<double>() : otherwise;
  } else {
    const bool fits =
        found->is_number_unsigned()
            ? std::in_range<T>(found->get<std::uint64_t>())
            : found->is_number_integer() && std::in_range<T>(found->get<std::int64_t>());
    return fits ? found->get<T>() : otherwise;
  }
}

template bool field_or(const nlohmann::json&, const char*, bool);
template int field_or(const nlohmann::json&, const char*, int);
template double field_or(const nlohmann::json&, const char*, double);
template std::string field_or(const nlohmann::json&, const char*, std::string);

}  // namespace detol::inline core

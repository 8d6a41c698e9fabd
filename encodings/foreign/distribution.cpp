#include "encodings/foreign/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/table.h"
#include "encodings/schema/yaml_value.h"
#include "encodings/space/space.h"
#include "encodings/space/written_value.h"

namespace detol::inline encoding {
namespace {

constexpr double kDeviations = 3;  // of a normal distribution, on both sides of its mean

bool is_whole_number(double x) {
  return x == std::floor(x);
}

// Returns the multiple of the step that is nearest to x. A multiple that is no whole number is x
// itself where x is one but for rounding: 3.2, not 16 * 0.2.
double nearest_multiple(double x, double step) {
  const double multiple = std::rint(x / step) * step;
  const bool is_one = std::abs(multiple - x) <= 1e-9 * step;
  return is_one && !is_whole_number(multiple) ? x : multiple + 0.0;  // never -0
}

// Sets low and high of the domain from the numbers.
void set_range(const Distribution& distribution, const DistributionNumbers& numbers,
               ForeignParameter& parameter) {
  Domain& domain = parameter.domain;
  const double first = numbers.first, second = numbers.second;
  switch (distribution.ends) {
    case Ends::kValues:
      domain.low = first, domain.high = second;
      return;
    case Ends::kExponents:
      domain.low = std::exp(first), domain.high = std::exp(second);
      return;
    case Ends::kNegatedExponents:
      domain.low = std::exp(-second), domain.high = std::exp(-first);
      return;
    case Ends::kNormal:
      break;
  }
  domain.low = first - kDeviations * second, domain.high = first + kDeviations * second;
  if (distribution.log) domain.low = std::exp(domain.low), domain.high = std::exp(domain.high);
  parameter.remarks.push_back(fmt::format(
      "a normal distribution{} of mean {} and standard deviation {} has no equal; it is "
      "the range of {} deviations on both sides of the mean",
      distribution.log ? " of the logarithm" : "", first, second, kDeviations));
}

// Makes low and high multiples of the step, as the values are.
void round_range(const Distribution& distribution, ForeignParameter& parameter) {
  Domain& domain = parameter.domain;
  const double low = domain.low, high = domain.high, step = domain.step;
  domain.low = nearest_multiple(low, step), domain.high = nearest_multiple(high, step);
  const auto leave_out = [&](double end) {
    parameter.remarks.push_back(
        fmt::format("its end {} is no multiple of {} and is left out", end, step));
  };
  if (distribution.clips && domain.low < low - 1e-9 * step) domain.low += step, leave_out(low);
  if (distribution.clips && domain.high > high + 1e-9 * step) domain.high -= step, leave_out(high);
  if (distribution.log && domain.low <= 0) {
    domain.low = step;
    parameter.remarks.push_back(
        fmt::format("0 has no logarithm and is left out; the least is {}", step));
  }
}

// Returns a list as Python and JSON write it.
std::string text_of(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kNull) return "null";
  if (node.kind == YamlNode::Kind::kScalar) {
    const Value value = plain_value(node);
    const auto* text = std::get_if<std::string>(&value);
    return text == nullptr ? to_text(value) : compact(nlohmann::json(*text));
  }
  std::string all;
  for (const YamlNode& item : node.items) all += (all.empty() ? "" : ", ") + text_of(item);
  return "[" + all + "]";
}

}  // namespace

Result<ForeignParameter> parameter_of(const Distribution& distribution, std::string name,
                                      const DistributionNumbers& numbers) {
  const auto mistake = [&](std::string_view what) {
    return fail(ErrorCode::kInput, fmt::format("{}: {}", name, what));
  };
  ForeignParameter parameter;
  Domain& domain = parameter.domain;
  domain.name = name;
  domain.log = distribution.log;
  domain.step = numbers.step;
  set_range(distribution, numbers, parameter);
  if (distribution.rounds) {
    if (!(numbers.step > 0)) return mistake("the step of its rounding must be above 0");
    round_range(distribution, parameter);
  }
  if (distribution.excludes_high) domain.high -= 1;
  const bool are_whole =
      is_whole_number(domain.low) && is_whole_number(domain.high) && is_whole_number(domain.step);
  if (distribution.whole && !are_whole)
    return mistake(fmt::format("{} needs whole numbers", distribution.name));
  if (distribution.whole || (distribution.rounds && are_whole)) {
    domain.kind = DomainKind::kInt;
    domain.step = std::max(domain.step, 1.0);
  }
  if (const auto wrong = mistake_in(domain)) return fail(ErrorCode::kInput, *wrong);
  return parameter;
}

Result<ForeignParameter> choice_of(std::string name, std::span<const YamlNode> values) {
  ForeignParameter parameter;
  const auto remark = [&parameter](std::string_view text) {
    if (std::ranges::find(parameter.remarks, text) == parameter.remarks.end())
      parameter.remarks.emplace_back(text);
  };
  parameter.domain.kind = DomainKind::kCategorical;
  for (const YamlNode& node : values) {
    if (node.kind == YamlNode::Kind::kMap)
      return fail(ErrorCode::kInput, fmt::format("{}: a map cannot be one of its values", name));
    if (node.kind == YamlNode::Kind::kNull) remark("null is given as the text None");
    if (node.kind == YamlNode::Kind::kList) remark("a list is given as its text");
    parameter.domain.choices.push_back(node.kind == YamlNode::Kind::kScalar ? plain_value(node)
                                       : node.kind == YamlNode::Kind::kNull ? Value("None")
                                                                            : Value(text_of(node)));
  }
  parameter.domain.name = std::move(name);
  if (const auto wrong = mistake_in(parameter.domain)) return fail(ErrorCode::kInput, *wrong);
  return parameter;
}

Result<void> has_known_keys(const YamlNode& map, std::string_view place,
                            std::span<const std::string_view> known) {
  for (const YamlEntry& entry : map.entries) {
    if (std::ranges::find(known, entry.key) == known.end())
      return fail(ErrorCode::kInput,
                  fmt::format("{}: {}", place, unknown_name("key", entry.key, known)));
  }
  return {};
}

Result<std::string> text_at(const YamlNode& map, std::string_view key) {
  const YamlEntry* entry = map.find(key);
  if (entry == nullptr || entry->value.kind == YamlNode::Kind::kNull) return std::string();
  if (entry->value.kind == YamlNode::Kind::kScalar) return entry->value.scalar;
  return fail(ErrorCode::kInput, fmt::format("{} must be a word", key));
}

std::optional<double> number_of(const YamlNode& scalar) {
  if (scalar.kind != YamlNode::Kind::kScalar) return std::nullopt;
  const Value value = number_or_text(scalar.scalar);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

Result<double> number_at(const YamlNode& map, std::string_view key,
                         std::optional<double> otherwise) {
  const YamlEntry* entry = map.find(key);
  if (entry == nullptr && otherwise) return *otherwise;
  if (entry != nullptr) {
    if (const auto number = number_of(entry->value)) return *number;
  }
  const bool is_text = entry != nullptr && entry->value.kind == YamlNode::Kind::kScalar;
  return fail(ErrorCode::kInput,
              fmt::format("it needs a number as {}{}", key,
                          is_text ? ", not " + in_quotes(entry->value.scalar) : ""));
}

}  // namespace detol::inline encoding

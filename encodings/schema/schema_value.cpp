#include "encodings/schema/schema_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/table.h"
#include "encodings/schema/units.h"
#include "encodings/schema/yaml_value.h"

namespace detol::inline encoding {
namespace {

bool is_among(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool in_range(const Field& field, double number) {
  return number >= field.low && number <= field.high;
}

std::string range_of(const Field& field) {
  const bool low = std::isfinite(field.low), high = std::isfinite(field.high);
  if (low && high) return fmt::format(" from {} to {}", field.low, field.high);
  if (low) return fmt::format(" of at least {}", field.low);
  return high ? fmt::format(" of at most {}", field.high) : "";
}

std::string_view kind_of(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "is empty";
    case YamlNode::Kind::kList:
      return "is a list";
    case YamlNode::Kind::kMap:
      return "is a map";
    case YamlNode::Kind::kScalar:
      break;
  }
  return "is a single value";
}

}  // namespace

bool accepts(const Field& field, const Value& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  const auto* word = std::get_if<std::string>(&value);
  switch (field.kind) {
    case FieldKind::kInt:
      if (word != nullptr) return is_among(*word, field.words);
      return whole != nullptr && in_range(field, static_cast<double>(*whole)) &&
             (!field.odd || *whole % 2 != 0);
    case FieldKind::kNumber:
      if (word != nullptr) return is_among(*word, field.words);
      if (whole != nullptr) return in_range(field, static_cast<double>(*whole));
      return real != nullptr && in_range(field, *real);
    case FieldKind::kBool:
      return std::holds_alternative<bool>(value);
    case FieldKind::kWord:
    case FieldKind::kNamed:
      return word != nullptr && !word->empty() &&
             (field.words.empty() || is_among(*word, field.words));
    case FieldKind::kSize:
    case FieldKind::kDuration:
      return real != nullptr && in_range(field, *real);
    case FieldKind::kAny:
      return true;
    case FieldKind::kSection:
    case FieldKind::kList:
    case FieldKind::kWords:
    case FieldKind::kInts:
    case FieldKind::kTextOrTexts:
    case FieldKind::kTexts:
    case FieldKind::kChoices:
    case FieldKind::kFree:
      break;
  }
  return false;
}

std::optional<Value> typed_value(const Field& field, const YamlNode& scalar) {
  if (scalar.kind != YamlNode::Kind::kScalar) return std::nullopt;
  std::optional<Value> value;
  if (field.kind == FieldKind::kWord || field.kind == FieldKind::kNamed) {
    value = scalar.scalar;
  } else if (field.kind == FieldKind::kSize) {
    value = parse_size(scalar.scalar);
  } else if (field.kind == FieldKind::kDuration) {
    value = parse_duration(scalar.scalar);
  } else if (field.kind == FieldKind::kAny) {
    value = written_value(scalar);
  } else {
    value = plain_value(scalar);
  }
  if (!value || !accepts(field, *value)) return std::nullopt;
  const auto* whole = std::get_if<std::int64_t>(&*value);
  if (field.kind == FieldKind::kNumber && whole != nullptr) return static_cast<double>(*whole);
  return value;
}

std::string describe(const Field& field) {
  const std::string or_words = field.words.empty() ? "" : " or " + join(field.words);
  switch (field.kind) {
    case FieldKind::kInt:
      if (field.low == field.high) return fmt::format("{}", field.low);
      return (field.odd ? "an odd whole number" : "a whole number") + range_of(field) + or_words;
    case FieldKind::kNumber:
      return "a number" + range_of(field) + or_words;
    case FieldKind::kBool:
      return "true or false";
    case FieldKind::kWord:
      return field.words.empty() ? "a word" : "one of " + join(field.words);
    case FieldKind::kNamed:
      return "a word or {name: word, option: value}";
    case FieldKind::kSize:
      return "a size such as 400MB, 2GiB or 1e9";
    case FieldKind::kDuration:
      return "a duration such as 90s, 10min, 2h or 2d12h";
    case FieldKind::kSection: {
      std::vector<std::string_view> keys;
      for (const Field& child : field.children) keys.push_back(child.key);
      return "a map with the keys " + join(keys);
    }
    case FieldKind::kList:
      return "a list of maps";
    case FieldKind::kWords:
      return "a list of one or more of " + join(field.words);
    case FieldKind::kInts:
      return (field.odd ? "a list of odd whole numbers" : "a list of whole numbers") +
             range_of(field);
    case FieldKind::kTextOrTexts:
      return "a word or a list of words";
    case FieldKind::kTexts:
      return "a map of names to texts";
    case FieldKind::kChoices:
      return "a map of names to values or choices";
    case FieldKind::kAny:
      return "a single value";
    case FieldKind::kFree:
      break;
  }
  return "a value";
}

std::string mistake_in(const Field& field, const YamlNode& node, std::string_view path) {
  if (node.kind != YamlNode::Kind::kScalar || field.kind == FieldKind::kSection ||
      field.kind == FieldKind::kList || field.kind == FieldKind::kTexts ||
      field.kind == FieldKind::kChoices) {
    return fmt::format("{} {}; it must be {}", path, kind_of(node), describe(field));
  }
  const bool is_word = field.kind == FieldKind::kWord || field.kind == FieldKind::kNamed;
  if (is_word && !field.words.empty()) {
    return fmt::format("{}: {}", path, unknown_name("word", node.scalar, field.words));
  }
  return fmt::format("{} is '{}'; it must be {}", path, node.scalar.substr(0, 80), describe(field));
}

}  // namespace detol::inline encoding

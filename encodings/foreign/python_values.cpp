// The patterns are those of PyYAML's resolver, which follows YAML 1.1.

#include "encodings/foreign/python_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <regex>

#include "encodings/space/written_value.h"

namespace detol::inline encoding {
namespace {

constexpr std::size_t kLongestNumber = 64;  // std::regex takes stack for each character
constexpr std::size_t kMostRemarks = 20;

const std::regex& pattern_of_whole() {
  static const std::regex kPattern(
      "[-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(:[0-5]?[0-9])+)");
  return kPattern;
}

const std::regex& pattern_of_real() {
  static const std::regex kPattern(
      "[-+]?[0-9][0-9_]*\\.[0-9_]*([eE][-+][0-9]+)?|\\.[0-9][0-9_]*([eE][-+][0-9]+)?|"
      "[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\\.[0-9_]*");
  return kPattern;
}

// Returns a number of up to 63 bits in that base; nullopt if it is none.
std::optional<std::int64_t> whole_in(std::string_view digits, int base) {
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  const bool is_all = error == std::errc() && end == digits.data() + digits.size();
  return is_all ? std::optional(number) : std::nullopt;
}

// Returns the digits of a number in base 60, 1:30, as a decimal one.
std::optional<std::string> from_base_60(std::string_view digits) {
  double number = 0;
  while (!digits.empty()) {
    const std::size_t colon = std::min(digits.find(':'), digits.size());
    double part = 0;
    std::from_chars(digits.data(), digits.data() + colon, part);
    number = 60 * number + part;
    digits.remove_prefix(std::min(colon + 1, digits.size()));
  }
  return number < 0x1p53 ? std::optional(to_text(number)) : std::nullopt;
}

// Returns a whole number as YAML 1.2 writes it; nullopt: it has more than 63 bits.
std::optional<std::string> whole_text(std::string text) {
  std::erase(text, '_');
  const bool is_negative = text.starts_with('-');
  if (text.starts_with('-') || text.starts_with('+')) text.erase(0, 1);
  std::optional<std::string> number;
  if (text.find(':') != std::string::npos) {
    number = from_base_60(text);
  } else {
    const bool is_hex = text.starts_with("0x"), is_binary = text.starts_with("0b");
    const bool is_octal = text.size() > 1 && text.starts_with('0');
    const auto value =
        whole_in(std::string_view(text).substr(is_hex || is_binary ? 2 : 0), is_hex      ? 16
                                                                             : is_binary ? 2
                                                                             : is_octal  ? 8
                                                                                         : 10);
    if (value) number = fmt::format("{}", *value);
  }
  if (number && is_negative && *number != "0") number->insert(0, "-");
  return number;
}

std::optional<std::string> real_text(std::string text) {
  std::erase(text, '_');
  if (text.find(':') == std::string::npos) return text;
  const bool is_negative = text.starts_with('-');
  if (text.starts_with('-') || text.starts_with('+')) text.erase(0, 1);
  auto number = from_base_60(text);
  if (number && is_negative) number->insert(0, "-");
  return number;
}

std::optional<bool> flag_in(std::string_view text) {
  constexpr std::array<std::string_view, 9> kTrue = {"yes",  "Yes", "YES", "true", "True",
                                                     "TRUE", "on",  "On",  "ON"};
  constexpr std::array<std::string_view, 9> kFalse = {"no",    "No",  "NO",  "false", "False",
                                                      "FALSE", "off", "Off", "OFF"};
  if (std::ranges::find(kTrue, text) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, text) != kFalse.end()) return false;
  return std::nullopt;
}

bool is_number_here(const std::string& text) {
  return !std::holds_alternative<std::string>(number_or_text(text));
}

void for_each_plain_scalar(YamlNode& node, const std::function<void(YamlNode&)>& visit) {
  if (node.kind == YamlNode::Kind::kScalar && !node.quoted) visit(node);
  for (YamlNode& item : node.items) for_each_plain_scalar(item, visit);
  for (YamlEntry& entry : node.entries) for_each_plain_scalar(entry.value, visit);
}

// Rewrites one scalar. Returns what to say of it; empty: it reads as it looks.
std::string read_as_pyyaml_does(YamlNode& node) {
  const std::string text = node.scalar;
  if (text.size() > kLongestNumber) return "";
  const auto said = [&text](std::string_view what) {
    return fmt::format("{} is {} in YAML 1.1, which Python reads", text, what);
  };
  if (const auto flag = flag_in(text)) {
    node.scalar = *flag ? "true" : "false";
    const char second = text[1];  // of true, True, false: they look like what they are
    return second == 'r' || second == 'R' || second == 'a' || second == 'A' ? ""
                                                                            : said(node.scalar);
  }
  const bool is_whole = std::regex_match(text, pattern_of_whole());
  if (is_whole || std::regex_match(text, pattern_of_real())) {
    const auto number = is_whole ? whole_text(text) : real_text(text);
    node.scalar = number.value_or(text);
    node.quoted = !number;
    const std::string sign = text.starts_with('+') ? "+" : "";
    return sign + node.scalar == text ? "" : said(node.quoted ? "too large a number" : node.scalar);
  }
  if (!is_number_here(text)) return "";
  node.quoted = true;  // no number to PyYAML
  return said("a text");
}

}  // namespace

std::vector<std::string> read_as_pyyaml(YamlNode& tree) {
  std::vector<std::string> remarks;
  for_each_plain_scalar(tree, [&remarks](YamlNode& node) {
    std::string remark = read_as_pyyaml_does(node);
    const bool is_new = std::ranges::find(remarks, remark) == remarks.end();
    if (!remark.empty() && is_new && remarks.size() < kMostRemarks)
      remarks.push_back(std::move(remark));
  });
  return remarks;
}

void read_as_python(YamlNode& tree) {
  for_each_plain_scalar(tree, [](YamlNode& node) {
    if (node.scalar.size() > kLongestNumber) return;
    const bool is_prefixed = node.scalar.starts_with("0x") || node.scalar.starts_with("0b");
    const bool is_special = is_prefixed || node.scalar.find('_') != std::string::npos;
    if (node.scalar == "True" || node.scalar == "False")
      node.scalar = node.scalar == "True" ? "true" : "false";
    else if (is_special && std::regex_match(node.scalar, pattern_of_whole()))
      node.scalar = whole_text(node.scalar).value_or(node.scalar);
  });
}

}  // namespace detol::inline encoding

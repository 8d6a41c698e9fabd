#include "encodings/space/written_value.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace detol::inline encoding {
namespace {

template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Returns whether a number's word has zeros or digits that its value loses.
bool says_more_than(std::string_view word, double value) {
  if (word.starts_with('-')) word.remove_prefix(1);
  const std::string_view digits = word.substr(0, word.find_first_of("eE"));
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::string_view fraction = digits.substr(std::min(point + 1, digits.size()));
  const bool begins_with_zero = point > 1 && digits.starts_with('0');
  const bool ends_with_zero = fraction.size() > 1 && fraction.ends_with('0');
  if (begins_with_zero || ends_with_zero) return true;
  constexpr int kKept = std::numeric_limits<double>::digits10;
  return std::ranges::count_if(digits, is_digit) > kKept && to_text(Value(std::abs(value))) != word;
}

}  // namespace

Value number_or_text(std::string_view word) {
  if (const auto whole = parsed<std::int64_t>(word)) return *whole;
  const auto real = parsed<double>(word);
  if (real && std::isfinite(*real)) return *real;
  return std::string(word);
}

Value value_of_word(std::string_view word) {
  if (word == "true" || word == "false") return word == "true";
  Value value = number_or_text(word);
  const auto* real = std::get_if<double>(&value);
  const bool is_more = real != nullptr ? word.starts_with('+') || says_more_than(word, *real)
                                       : to_text(value) != word;
  return is_more ? Value(std::string(word)) : value;
}

bool is_number_of(std::string_view text, double number) {
  if (!std::holds_alternative<std::string>(value_of_word(text))) return false;
  const Value value = number_or_text(text);
  if (const auto* whole = std::get_if<std::int64_t>(&value))
    return static_cast<double>(*whole) == number;
  const auto* real = std::get_if<double>(&value);
  return real != nullptr && *real == number;
}

}  // namespace detol::inline encoding

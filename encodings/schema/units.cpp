#include "encodings/schema/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace detol::inline encoding {
namespace {

struct Unit {
  std::string_view word;
  double factor;
};

constexpr std::array kDurations = {Unit{"s", 1}, Unit{"min", 60}, Unit{"h", 3600},
                                   Unit{"d", 86400}};
constexpr std::array kSizes = {
    Unit{"", 1},         Unit{"B", 1},        Unit{"kB", 1e3},     Unit{"KB", 1e3},
    Unit{"MB", 1e6},     Unit{"GB", 1e9},     Unit{"TB", 1e12},    Unit{"KiB", 0x1p10},
    Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40},
};

// Takes a plain decimal number from the front of `text`.
std::optional<double> take_number(std::string_view& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

template <std::size_t N>
std::optional<double> factor_of(const std::array<Unit, N>& units, std::string_view word) {
  for (const Unit& unit : units) {
    if (unit.word == word) return unit.factor;
  }
  return std::nullopt;
}

constexpr std::string_view kNumber = "[0-9]+(\\.[0-9]*)?([eE][-+]?[0-9]+)?";

// Returns "s|min|h|d".
template <std::size_t N>
std::string either(const std::array<Unit, N>& units) {
  std::string words;
  for (const Unit& unit : units)
    words += fmt::format("{}{}", &unit == units.data() ? "" : "|", unit.word);
  return words;
}

}  // namespace

std::optional<double> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  while (!text.empty()) {
    const auto number = take_number(text);
    std::size_t letters = 0;
    while (letters < text.size() && text[letters] >= 'a' && text[letters] <= 'z') ++letters;
    const auto factor = factor_of(kDurations, text.substr(0, letters));
    if (!number || !factor) return std::nullopt;
    seconds += *number * *factor;
    text.remove_prefix(letters);
  }
  return seconds;
}

std::optional<double> parse_size(std::string_view text) {
  const auto number = take_number(text);
  if (!number) return std::nullopt;
  while (text.starts_with(' ')) text.remove_prefix(1);
  const auto factor = factor_of(kSizes, text);
  if (!factor || !std::isfinite(*number * *factor)) return std::nullopt;
  return *number * *factor;
}

std::string duration_pattern() {
  return fmt::format("^({}({}))+$", kNumber, either(kDurations));
}

std::string size_pattern() {
  return fmt::format("^{} *({})$", kNumber, either(kSizes));
}

}  // namespace detol::inline encoding

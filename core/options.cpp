#include "core/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <sstream>

#include "core/table.h"

namespace detol::inline core {

namespace {

// Returns the word as a number, or nullopt if not all of it is one.
template <typename Number>
std::optional<Number> number_in(const std::string& word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

}  // namespace

std::int64_t OptionReader::whole(std::string_view name, std::int64_t fallback, std::int64_t low,
                                 std::int64_t high) {
  const std::string* word = word_for(name);
  if (word == nullptr) return fallback;
  const auto number = number_in<std::int64_t>(*word);
  if (number && *number >= low && *number <= high) return *number;
  refuse(name, *word, fmt::format("a whole number from {} to {}", low, high));
  return fallback;
}

double OptionReader::real(std::string_view name, double fallback, double low, double high) {
  const std::string* word = word_for(name);
  if (word == nullptr) return fallback;
  const auto number = number_in<double>(*word);
  if (number && *number >= low && *number <= high) return *number;  // false for NaN
  refuse(name, *word, fmt::format("a number from {} to {}", low, high));
  return fallback;
}

std::vector<std::string> OptionReader::words(std::string_view name, std::string_view fallback) {
  const std::string* given = word_for(name);
  std::istringstream text(given == nullptr ? std::string(fallback) : *given);
  return {std::istream_iterator<std::string>(text), {}};
}

const std::string* OptionReader::word_for(std::string_view name) {
  known_.push_back(name);
  const auto given = given_.find(std::string(name));
  return given == given_.end() ? nullptr : &given->second;
}

void OptionReader::refuse(std::string_view name, std::string_view word, std::string_view accepted) {
  if (!mistake_.empty()) return;
  mistake_ = fmt::format("{}: {} is {}; it must be {}", owner_, name, in_quotes(word), accepted);
}

Result<void> OptionReader::done() const {
  for (const auto& [name, word] : given_) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    if (known_.empty()) {
      return fail(ErrorCode::kInput,
                  fmt::format("{}: unknown option {}; it has no options", owner_, in_quotes(name)));
    }
    return fail(ErrorCode::kInput, owner_ + ": " + unknown_name("option", name, known_));
  }
  if (!mistake_.empty()) return fail(ErrorCode::kInput, mistake_);
  return {};
}

}  // namespace detol::inline core

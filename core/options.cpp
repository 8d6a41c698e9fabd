#include "core/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/table.h"

namespace detol {

std::int64_t OptionReader::whole(std::string_view name, std::int64_t fallback, std::int64_t low,
                                 std::int64_t high) {
  known_.push_back(name);
  const auto given = given_.find(std::string(name));
  if (given == given_.end()) return fallback;
  const std::string& word = given->second;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc{} && end == word.data() + word.size() && number >= low && number <= high)
    return number;
  if (mistake_.empty()) {
    mistake_ = fmt::format("{}: {} is {}; it must be a whole number from {} to {}", owner_, name,
                           in_quotes(word), low, high);
  }
  return fallback;
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

}  // namespace detol

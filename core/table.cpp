#include "core/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "core/utf8.h"

namespace detol::inline core {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

void end_for_unknown_name(std::string_view name) {
  std::fprintf(stderr, "detol: a defect: no table has %s\n", in_quotes(name).c_str());
  std::abort();
}

std::string join(std::span<const std::string_view> words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string in_quotes(std::string_view text) {
  return "'" + printable(text.substr(0, 80)) + "'";
}

std::optional<std::string> did_you_mean(std::string_view word,
                                        std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 64;  // a longer word is no typo
  if (word.size() > kLongest) return std::nullopt;
  std::size_t nearest = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::optional<std::string> guess;
  for (std::string_view candidate : known) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < nearest && distance < candidate.size()) {
      nearest = distance;
      guess = std::string(candidate);
    }
  }
  return guess;
}

std::string unknown_name(std::string_view what, std::string_view word,
                         std::span<const std::string_view> known) {
  std::string text = fmt::format("unknown {} {}; ", what, in_quotes(word));
  if (const auto guess = did_you_mean(word, known))
    text += fmt::format("did you mean '{}'? ", *guess);
  return text + "known: " + join(known);
}

}  // namespace detol::inline core

#include "scheduler/study_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace detol::inline scheduler {
namespace {

// Returns the lines of all sections except budget and resources. A section begins where a line is
// not indented.
std::vector<std::string_view> lines_that_count(std::string_view text) {
  std::vector<std::string_view> lines;
  bool counts = true;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty() && line.front() != ' ' && line.front() != '-')
      counts = !line.starts_with("budget:") && !line.starts_with("resources:");
    if (counts && !line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace

Result<void> same_study(std::string_view begun_with, std::string_view now) {
  const auto before = lines_that_count(begun_with);
  const auto after = lines_that_count(now);
  const auto [a, b] = std::ranges::mismatch(before, after);
  if (a == before.end() && b == after.end()) return {};
  return fail(ErrorCode::kInput,
              fmt::format("the space file is not the one this study was begun with: it had '{}', "
                          "now '{}'; only budget and resources may change; begin a new study "
                          "with --if-exists new",
                          a == before.end() ? "" : *a, b == after.end() ? "" : *b));
}

}  // namespace detol::inline scheduler

#include "trainer/data/formats/picture_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/table.h"

namespace detol::inline trainer {
namespace {

std::string joined(const std::vector<std::string>& words) {
  return join(std::vector<std::string_view>(words.begin(), words.end()));
}

std::string range_text(int least, int most) {
  return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
}

}  // namespace

std::string kinds_in(const PictureSurvey& survey) {
  std::vector<std::pair<std::int64_t, std::string>> kinds;
  for (const auto& [kind, count] : survey.kinds) kinds.emplace_back(count, kind);
  std::ranges::stable_sort(kinds, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (const auto& [count, kind] : kinds) words.push_back(fmt::format("{} {}", count, kind));
  return joined(words);
}

std::string sizes_in(const PictureSurvey& survey) {
  return fmt::format("{} x {} pixels", range_text(survey.least_height, survey.most_height),
                     range_text(survey.least_width, survey.most_width));
}

std::string classes_in(const PictureSurvey& survey) {
  constexpr std::size_t kShown = 20;
  std::vector<std::string> words;
  for (const PictureSurvey::Class& one : survey.classes) {
    if (words.size() == kShown) break;
    words.push_back(fmt::format("{} {}", one.name, one.training + one.validation + one.test));
  }
  if (survey.classes.size() > kShown) words.emplace_back("...");
  return joined(words);
}

std::string notes_on(const PictureSurvey& survey) {
  std::vector<std::string> notes;
  if (survey.turned > 0) notes.push_back(fmt::format("{} rotated by EXIF", survey.turned));
  if (survey.with_alpha > 0)
    notes.push_back(fmt::format("{} with transparency", survey.with_alpha));
  if (!survey.unreadable.empty())
    notes.push_back(fmt::format("{} cannot be read", survey.unreadable.size()));
  if (!survey.passed_over.empty()) notes.push_back(passed_over_text(survey.passed_over));
  return joined(notes);
}

}  // namespace detol::inline trainer

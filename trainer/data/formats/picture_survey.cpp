#include "trainer/data/formats/picture_survey.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/file.h"
#include "core/table.h"
#include "core/utf8.h"
#include "trainer/data/formats/exif.h"
#include "trainer/data/formats/picture.h"
#include "trainer/data/formats/picture_file.h"
#include "trainer/data/formats/picture_folder.h"

namespace detol::inline trainer {
namespace {

// Surveyor adds one split after the other.
class Surveyor {
 public:
  explicit Surveyor(const std::vector<std::string>& class_names) {
    for (const std::string& name : class_names) survey_.classes.push_back({.name = name});
  }

  void add(const PictureFiles& files, std::int64_t PictureSurvey::Class::*count) {
    for (const std::int32_t label : files.labels)
      ++(survey_.classes[static_cast<std::size_t>(label)].*count);
    for (const auto& path : files.passed_over) survey_.passed_over.push_back(path.string());
    for (const auto& path : files.paths) {
      const auto file = read_file(path, kLargestPictureFile);
      if (!file) {
        survey_.unreadable.push_back(file.error().message);
      } else if (const auto head = reader_.head(bytes_in(*file))) {
        add(*head);
      } else {
        survey_.unreadable.push_back(fmt::format("{}: {}", path.string(), head.error()));
      }
    }
  }

  PictureSurvey survey() && { return std::move(survey_); }

 private:
  void add(const PictureHead& head) {
    int height = head.height, width = head.width;
    if (exchanges_sides(head.orientation)) std::swap(height, width);
    if (survey_.kinds.empty()) {
      survey_.least_height = height;
      survey_.least_width = width;
    }
    ++survey_.kinds[kind_of(head)];
    survey_.least_height = std::min(survey_.least_height, height);
    survey_.most_height = std::max(survey_.most_height, height);
    survey_.least_width = std::min(survey_.least_width, width);
    survey_.most_width = std::max(survey_.most_width, width);
    survey_.turned += head.orientation != 1;
    survey_.with_alpha += head.has_alpha;
  }

  PictureFile reader_;
  PictureSurvey survey_;
};

std::string joined(const std::vector<std::string>& words) {
  return join(std::vector<std::string_view>(words.begin(), words.end()));
}

std::string range_text(int least, int most) {
  return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
}

}  // namespace

std::string passed_over_text(const std::vector<std::string>& paths) {
  constexpr std::size_t kShown = 3;
  if (paths.empty()) return {};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kShown, paths.size()); ++i)
    names.push_back(printable(std::filesystem::path(paths[i]).filename().string()));
  if (paths.size() > kShown) names.emplace_back("...");
  return fmt::format("{} other file{} passed over ({})", paths.size(), paths.size() == 1 ? "" : "s",
                     fmt::join(names, ", "));
}

Result<PictureSurvey> survey_pictures(const std::filesystem::path& root) {
  using Class = PictureSurvey::Class;
  DETOL_ASSIGN(const PictureFolder folder, list_pictures(root));
  Surveyor surveyor(folder.class_names);
  surveyor.add(folder.training, &Class::training);
  if (folder.validation) surveyor.add(*folder.validation, &Class::validation);
  if (folder.test) surveyor.add(*folder.test, &Class::test);
  return std::move(surveyor).survey();
}

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

// `data inspect`: what the files of a data set are like, before there is a space file.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "cli/commands.h"
#include "core/log.h"
#include "core/utf8.h"
#include "trainer/data/formats/csv_look.h"
#include "trainer/data/formats/picture_summary.h"

namespace detol::inline cli {
namespace {

std::int64_t count_of(const PictureSurvey& survey, std::int64_t PictureSurvey::Class::*split) {
  std::int64_t sum = 0;
  for (const PictureSurvey::Class& one : survey.classes) sum += one.*split;
  return sum;
}

Rows record_of_pictures(const std::string& path, const PictureSurvey& survey) {
  using Class = PictureSurvey::Class;
  const auto size_of = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  return {.columns = {"path", "format", "training", "validation", "test", "classes", "class_counts",
                      "kinds", "sizes", "differ_in_size", "rotated", "transparent", "unreadable",
                      "passed_over", "notes"},
          .rows = {{path, std::string("image_folder"), count_of(survey, &Class::training),
                    count_of(survey, &Class::validation), count_of(survey, &Class::test),
                    size_of(survey.classes), classes_in(survey), kinds_in(survey), sizes_in(survey),
                    std::string(survey.differ_in_size() ? "yes: a study needs data.size" : "no"),
                    survey.turned, survey.with_alpha, size_of(survey.unreadable),
                    size_of(survey.passed_over), notes_on(survey)}}};
}

// Prints one row for each column of a table.
Result<int> inspect_table(const std::string& path, const Globals& globals) {
  DETOL_ASSIGN(const TableLook look, look_at_table({.format = "csv", .path = path}, path));
  log_info("{}", remarks_on(look).front());
  for (const std::string& remark : look.remarks) log_info("{}", remark);
  Rows columns{.columns = {"column", "use", "kind", "missing", "distinct", "remark"}, .rows = {}};
  for (const ColumnLook& column : look.columns) {
    columns.rows.push_back({column.name, std::string(name_of(column.use)),
                            std::string(name_of(column.kind)), column.missing, column.distinct,
                            column.remark.empty() ? Cell() : Cell(column.remark)});
  }
  return show(columns, globals);
}

Result<int> inspect(const Arguments& arguments) {
  constexpr std::size_t kShown = 10;
  const std::string path = arguments.text("PATH");
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored))
    return inspect_table(path, arguments.globals);
  DETOL_ASSIGN(const PictureSurvey survey, survey_pictures(path));
  for (std::size_t i = 0; i < std::min(kShown, survey.unreadable.size()); ++i)
    log_warning("{}", printable(survey.unreadable[i]));
  if (survey.unreadable.size() > kShown)
    log_warning("and {} more pictures that cannot be read", survey.unreadable.size() - kShown);
  return show_record(record_of_pictures(path, survey), arguments.globals);
}

}  // namespace

Command data_inspect_command() {
  return {.name = "data inspect",
          .summary = "look at a table, or at a folder of pictures: columns; classes, kinds, sizes",
          .options = {{"PATH", "", "a CSV file, or a folder of CLASS/* or train/CLASS/*",
                       Option::kRequired}},
          .examples =
              "  detol data inspect adult.csv\n"
              "  detol data inspect pictures\n"
              "  detol data inspect pictures -f json",
          .run = inspect};
}

}  // namespace detol::inline cli

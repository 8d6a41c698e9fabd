// `data pack|info|inspect`: writes a data set to one file that all workers of a machine share,
// shows what such a file contains, and what other data are like before there is a space file.

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/commands.h"
#include "cli/settings.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/utf8.h"
#include "scheduler/run/preflight.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/csv_look.h"
#include "trainer/data/formats/formats.h"
#include "trainer/data/formats/packed.h"
#include "trainer/data/formats/picture_survey.h"

namespace detol::inline cli {
namespace {

// The space file that --from uses, of which only the data matter.
constexpr std::string_view kDataAlone =
    "{version: 1, study: data, data: {format: idx}, training: {epochs: 1}, architecture: {type: "
    "chain, stages: [{block: {op: conv}}]}, objectives: [{metric: val_accuracy, direction: "
    "maximize}]}";

Rows record_of(const std::filesystem::path& path, const Packed& packed) {
  const DatasetInfo& info = packed.data.info;
  std::error_code ignored;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, ignored));
  return {.columns = {"file", "bytes", "shape", "pixels", "task", "classes", "training",
                      "validation", "test", "split", "fingerprint"},
          .rows = {{path.string(), bytes, to_text(info.task.input),
                    packed.data.has_bytes() ? "bytes" : "floats",
                    std::string(row_of(info.task.kind).name), std::int64_t{info.task.classes},
                    info.training, info.validation, info.test, packed.validation,
                    to_hex(info.fingerprint)}}};
}

Result<int> print_info(const std::filesystem::path& path, const Globals& globals) {
  DETOL_ASSIGN(const Packed packed, read_packed(path));
  return show_record(record_of(path, packed), globals);
}

Result<StudyConfig> study_of(const Arguments& arguments) {
  if (arguments.has("space") == arguments.has("from")) {
    return usage_error("say which data: --space FILE, or --from FORMAT --data PATH");
  }
  if (arguments.has("space")) return read_space(arguments);
  DETOL_ASSIGN(auto overrides, overrides_from(arguments));
  overrides.push_back({"data.format", arguments.text("from")});
  return load_study_config(kDataAlone, "--from", overrides);
}

Result<int> run_pack(const Arguments& arguments) {
  DETOL_ASSIGN(const StudyConfig study, study_of(arguments));
  if (!study.trains()) return usage_error("the study of a table or a function has no data to pack");
  const std::filesystem::path out = arguments.text("out");
  std::error_code ignored;
  if (std::filesystem::exists(out, ignored) && !arguments.has("force"))
    return fail(ErrorCode::kUsage, out.string() + " exists; --force replaces it");
  DataConfig from = study.data;
  if (from.task == TaskKind::kBinary) from.task = TaskKind::kClassification;  // stored alike
  DETOL_ASSIGN(const Dataset data, load_dataset(from));
  if (is_encoded(data)) {
    return fail(ErrorCode::kUsage, from.path +
                                       ": a table of categories, dates, missing cells or encoded "
                                       "numbers cannot be packed; train from the file");
  }
  say_remarks(from, data.info);
  DETOL_TRY(write_packed(data, study.data.validation, out));
  return print_info(out, arguments.globals);
}

Result<int> run_info(const Arguments& arguments) {
  return print_info(arguments.text("FILE"), arguments.globals);
}

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names;
  for (const FormatRow& row : formats()) names.push_back(row.name);
  return names;
}

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

std::vector<Command> data_commands() {
  return {{.name = "data pack",
           .summary = "write a data set, split and checked, to one file that all workers share",
           .options = {{"--space", "FILE",
                        "the space file whose data it is; default: none, --from says"},
                       one_of("--from", "FORMAT",
                              "or their format; default: that of the space file", format_names()),
                       {"--data", "PATH", "where they are; default: that of the space file"},
                       {"--set", "KEY=VALUE", "change a key of the space file", Option::kRepeated},
                       {"--out", "FILE", "the file to write", Option::kRequired},
                       {"--force", "", "replace it if it exists"}},
           .examples =
               "  detol data pack --space cnn --out fashion.detol\n"
               "  detol data pack --from idx --data mnist --set data.split.validation=0.2 --out "
               "m.detol\n"
               "  detol search --space cnn --set data.format=packed --data fashion.detol",
           .run = run_pack},
          {.name = "data info",
           .summary = "check every byte of a packed file, and say what is in it",
           .options = {{"FILE", "", "which", Option::kRequired}},
           .examples = "  detol data info fashion.detol",
           .run = run_info},
          {.name = "data inspect",
           .summary = "look at a table, or at a folder of pictures: columns; classes, kinds, sizes",
           .options = {{"PATH", "", "a CSV file, or a folder of CLASS/* or train/CLASS/*",
                        Option::kRequired}},
           .examples = "  detol data inspect adult.csv\n"
                       "  detol data inspect pictures\n"
                       "  detol data inspect pictures -f json",
           .run = inspect}};
}

}  // namespace detol::inline cli

// `new`: writes a space file to start from: a ready one, such as that of a program to tune. For a
// table it looks at the data and says in the file what each column is, what is left out, and which
// task the label asks for. The space of another program becomes one for its command.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/settings.h"
#include "core/file.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/table.h"
#include "core/utf8.h"
#include "encodings/foreign/foreign_space.h"
#include "encodings/study/study_config.h"
#include "trainer/data/formats/csv_look.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostNumberedClasses = 10;
constexpr std::size_t kMostForeignBytes = 1 << 20;
constexpr double kPipeWaitS = 4;

// NewFile: the file to write.
struct NewFile {
  std::string text;
  std::string name;         // without -o
  bool has_program = true;  // to run; else its user puts one in
};

// Returns the text as a YAML scalar that reads back as itself.
std::string quoted(const std::string& text) {
  return compact(nlohmann::json(text));
}

// Returns the name as a study's: letters, digits, '-', '_' and '.'.
std::string study_name(std::string name) {
  std::ranges::replace_if(
      name,
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; },
      '-');
  const bool begins_well = !name.empty() && std::isalnum(static_cast<unsigned char>(name.front()));
  return begins_well ? name : "study-" + name;
}

// Returns whether a label of the table is a number to predict, not a class.
bool is_regression(const TableLook& look) {
  const ColumnLook& label = look.columns[look.labels.front()];
  return label.kind == ColumnKind::kNumber && label.distinct > kMostNumberedClasses;
}

// Returns the columns that teach nothing, or number the records.
std::vector<std::string> columns_to_drop(const TableLook& look) {
  std::vector<std::string> names;
  for (const ColumnLook& column : look.columns) {
    const bool is_odd = column.use == ColumnUse::kLeftOut || !column.remark.empty();
    if (is_odd && column.use != ColumnUse::kLabel) names.push_back(quoted(column.name));
  }
  return names;
}

std::string data_section(const fs::path& data, const TableLook& look) {
  std::string text = "data:\n";
  for (const std::string& remark : remarks_on(look))
    text += fmt::format("  # {}\n", printable(remark));
  const ColumnLook& label = look.columns[look.labels.front()];
  text += fmt::format("  format: csv\n  path: {}\n  label: {}\n", quoted(data.string()),
                      quoted(label.name));
  if (label.missing > 0) text += "  missing_label: drop\n";
  if (is_regression(look)) {
    text += "  task: regression\n";
  } else if (label.kind == ColumnKind::kNumber) {
    text += fmt::format(
        "  # The label has {} different numbers, taken as classes; to predict the "
        "number, begin with\n  # `detol new table_regression`.\n",
        label.distinct);
  }
  text += "  split: {validation: 0.2, test: 0.2, by: stratified}\n";
  const std::vector<std::string> drop = columns_to_drop(look);
  text += fmt::format("  columns: {{{}numbers: piecewise, bins: 16}}\n",
                      drop.empty() ? "" : fmt::format("drop: [{}], ", fmt::join(drop, ", ")));
  return text;
}

// Returns the text with the section of that key replaced: from its line to the next that is not
// indented.
std::string with_section(const std::string& text, std::string_view key,
                         const std::string& section) {
  const std::size_t begin = text.find(fmt::format("\n{}:", key)) + 1;
  std::size_t end = text.find('\n', begin) + 1;
  while (end < text.size() && (text[end] == ' ' || text[end] == '#'))
    end = text.find('\n', end) + 1;
  return text.substr(0, begin) + section + text.substr(end);
}

Result<std::string> ready_space(const std::string& name) {
  const fs::path path = find_space(name);
  std::error_code ignored;
  if (!fs::exists(path, ignored) || path == name)
    return fail(ErrorCode::kUsage,
                fmt::format("{} is no ready space; configs/ has them, such as cnn and table",
                            in_quotes(name)));
  return read_file(path);
}

// Returns the space file for a table: its task says which of the two ready ones it begins with.
Result<std::string> space_of_table(const Arguments& arguments, const fs::path& data) {
  const bool wants_number = arguments.text("NAME") == "table_regression";
  DataConfig config{.format = "csv", .path = data.string(), .missing_label = "drop"};
  if (arguments.has("label")) config.labels = {arguments.text("label")};
  DETOL_ASSIGN(TableLook look, look_at_table(config, config.path));
  for (const std::size_t i : look.labels) {
    const ColumnLook& label = look.columns[i];
    if (!label.remark.empty()) log_warning("column {}: {}", in_quotes(label.name), label.remark);
  }
  if (wants_number) {
    ColumnLook& label = look.columns[look.labels.front()];
    if (label.kind != ColumnKind::kNumber)
      return fail(ErrorCode::kInput, fmt::format("{}: the label {} is text, not a number to "
                                                 "predict; begin with `detol new table`",
                                                 data.string(), in_quotes(label.name)));
    label.distinct = std::max(label.distinct, kMostNumberedClasses + 1);
  }
  DETOL_ASSIGN(std::string text, ready_space(is_regression(look) ? "table_regression" : "table"));
  text = text.substr(text.find("\nversion:") + 1);
  text = with_section(text, "study", fmt::format("study: {}\n", study_name(data.stem().string())));
  return with_section(text, "data", data_section(data, look));
}

// Returns the space file for a program whose space is that of another tool.
Result<NewFile> foreign_file(const Arguments& arguments) {
  const std::string from = arguments.text("from");
  if (arguments.has("NAME") || arguments.has("data"))
    return fail(ErrorCode::kUsage, "--from has the whole space; leave out NAME and --data");
  DETOL_ASSIGN(const std::string bytes, read_file_or_pipe(from, kMostForeignBytes, kPipeWaitS));
  DETOL_ASSIGN(const ForeignSpace space, read_foreign_space(bytes, from));
  const std::string named = space.study.empty() ? fs::path(from).stem().string() : space.study;
  const std::string study = arguments.text("study", study_name(named));
  if (!is_study_name(study))
    return fail(ErrorCode::kUsage,
                fmt::format("--study is {}; it must be {}", in_quotes(study), kStudyNameRule));
  const std::string text = write_space_file(space, study, from);
  if (const auto config = load_study_config(text, "its space file"); !config)
    return fail(ErrorCode::kInput, fmt::format("{}: {}", from, config.error().message));
  for (const std::string& remark : space.remarks) log_warning("{}: {}", from, remark);
  for (const ForeignParameter& one : space.parameters)
    for (const std::string& remark : one.remarks)
      log_warning("{}: {}: {}", from, one.domain.name, remark);
  return NewFile{text, study + ".yaml", !space.run.empty()};
}

Result<NewFile> native_file(const Arguments& arguments) {
  const std::string name = arguments.text("NAME");
  if (arguments.has("study"))
    return fail(ErrorCode::kUsage, "--study is for --from; detol search --study names the others");
  if (!arguments.has("data"))
    return ready_space(name).map([&](const std::string& text) {
      return NewFile{text, name + ".yaml"};
    });
  if (name != "table" && name != "table_regression")
    return fail(ErrorCode::kUsage,
                "--data is looked at for a table; detol search --data says where "
                "other data is");
  const fs::path data = fs::absolute(arguments.text("data")).lexically_normal();
  DETOL_TRY(check_path("--data", data.string()));
  return space_of_table(arguments, data).map([&](const std::string& text) {
    return NewFile{text, study_name(data.stem().string()) + ".yaml"};
  });
}

// Returns what to do next.
std::string advice(const NewFile& file, const fs::path& out) {
  const bool is_program = file.text.find("\ncommand:") != std::string::npos;
  return fmt::format("{}, then: detol {} --space {} --budget {}",
                     file.has_program ? "look it over" : "put your program in it",
                     is_program ? "tune" : "search", out.string(),
                     is_program ? "50trials" : "1cpu-min");
}

Result<int> run_new(const Arguments& arguments) {
  if (!arguments.has("NAME") && !arguments.has("from"))
    return fail(
        ErrorCode::kUsage,
        "say what to begin with: a ready space, such as cnn, table or tune, or --from FILE");
  DETOL_ASSIGN(const NewFile file,
               arguments.has("from") ? foreign_file(arguments) : native_file(arguments));
  const fs::path out = arguments.text("output", file.name);
  std::error_code ignored;
  if (fs::exists(out, ignored))
    return fail(ErrorCode::kUsage, out.string() + " exists; say another file with -o");
  DETOL_TRY(write_file_durably(out, file.text));
  log_info("{}", advice(file, out));
  const Rows written{.columns = {"file"}, .rows = {{out.string()}}};
  return show(written, arguments.globals);
}

}  // namespace

Command new_command() {
  return {
      .name = "new",
      .summary = "write a space file to start from; for a table, from a look at it",
      .options = {{"NAME", "", "a ready space, such as cnn, table or tune"},
                  {"--data", "FILE",
                   "the table to look at; default: none, the ready space as it is"},
                  {"--label", "COLUMN", "its label; default: the last column"},
                  {"--from", "FILE", "a space of NNI, W&B, Optuna or Ray Tune, instead of NAME"},
                  {"--study", "NAME", "of --from: the study; default: as FILE says"},
                  {"-o,--output", "FILE", "the file to write; default: after the data"}},
      .examples =
          "  detol new table --data adult.csv\n"
          "  detol new table --data houses.csv --label price -o houses.yaml\n"
          "  detol new cnn -o mine.yaml\n"
          "  detol new tune -o mine.yaml\n"
          "  detol new --from sweep.yaml -o mine.yaml",
      .run = run_new};
}

}  // namespace detol::inline cli

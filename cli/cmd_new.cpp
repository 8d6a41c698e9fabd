// `new`: writes a space file to start from: a ready one, such as that of a program to tune. For a
// table it looks at the data and says in the file what each column is, what is left out, and which
// task the label asks for. The space of another program becomes one for its command.

#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/settings.h"
#include "core/file.h"
#include "core/log.h"
#include "core/table.h"
#include "encodings/foreign/foreign_space.h"
#include "encodings/study/ready_spaces.h"
#include "encodings/study/study_config.h"
#include "trainer/data/formats/table_space.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostForeignBytes = 1 << 20;
constexpr double kPipeWaitS = 4;

// NewFile: the file to write.
struct NewFile {
  std::string text;
  std::string name;         // without -o
  bool has_program = true;  // to run; else its user puts one in
};

Result<std::string> ready_space(const std::string& name) {
  const fs::path path = find_space(name);
  std::error_code ignored;
  if (!fs::exists(path, ignored) || path == name)
    return usage_error("{} is no ready space; configs/ has them, such as cnn and table",
                       in_quotes(name));
  return read_file(path);
}

// Returns the space file for a program whose space is that of another tool.
Result<NewFile> foreign_file(const Arguments& arguments) {
  const std::string from = arguments.text("from");
  if (arguments.has("NAME") || arguments.has("data"))
    return usage_error("--from has the whole space; leave out NAME and --data");
  DETOL_ASSIGN(const std::string bytes, read_file_or_pipe(from, kMostForeignBytes, kPipeWaitS));
  DETOL_ASSIGN(const ForeignSpace space, read_foreign_space(bytes, from));
  const std::string named = space.study.empty() ? fs::path(from).stem().string() : space.study;
  const std::string study = arguments.text("study", name_of_study(named));
  if (!is_study_name(study))
    return usage_error("--study is {}; it must be {}", in_quotes(study), kStudyNameRule);
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
    return usage_error("--study is for --from; detol search --study names the others");
  if (!arguments.has("data"))
    return ready_space(name).map([&](const std::string& text) {
      return NewFile{text, name + ".yaml"};
    });
  if (name != "table" && name != "table_regression")
    return usage_error(
        "--data is looked at for a table; detol search --data says where other data is");
  const fs::path data = fs::absolute(arguments.text("data")).lexically_normal();
  DETOL_TRY(check_path("--data", data.string()));
  const auto label = arguments.has("label") ? std::optional(arguments.text("label")) : std::nullopt;
  DETOL_ASSIGN(const TableSpace space, space_of_table(data, label, name == "table_regression"));
  DETOL_ASSIGN(const std::string ready, ready_space(space.ready));
  return NewFile{made_of(ready, space), space.study + ".yaml"};
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
    return usage_error(
        "say what to begin with: a ready space, such as cnn, table or tune, or --from FILE");
  DETOL_ASSIGN(const NewFile file,
               arguments.has("from") ? foreign_file(arguments) : native_file(arguments));
  const fs::path out = arguments.text("output", file.name);
  std::error_code ignored;
  if (fs::exists(out, ignored))
    return fail(ErrorCode::kUsage, out.string() + " exists; say another file with -o");
  DETOL_TRY(write_file_durably(out, file.text));
  log_info("{}", advice(file, out));
  return show(Rows{.columns = {"file"}, .rows = {{out.string()}}}, arguments.globals);
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

#include "cli/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "cli/settings.h"
#include "core/home.h"
#include "core/terminal.h"
#include "core/utf8.h"
#include "encodings/study/ready_spaces.h"

namespace detol::inline cli {
namespace {

constexpr std::array kGroups = {
    CommandGroup{"study", "rename, copy, delete, stop, tag or annotate a study"},
    CommandGroup{"db", "check, back up, restore, import, export or merge knowledge bases"},
    CommandGroup{"data", "pack a data set into one file, or say what is in one"},
};

const std::vector<Option> kGlobals = {
    {"--storage", "PATH", "the knowledge base; default $DETOL_STORAGE, else ./detol.db"},
    one_of("-f,--format", "FORMAT", "how to print what was found; default: table",
           {"table", "json", "jsonl", "csv"}),
    {"--columns", "NAMES",
     "print only these columns, joined by commas, in this order; default: all that fit"},
    {"-q,--quiet", "", "no progress, only warnings and errors"},
    {"-v,--verbose", "", "more on stderr"},
    one_of("--color", "WHEN", "colours; default: auto", {"auto", "always", "never"}),
    {"--log-file", "FILE", "also write the log there; default: stderr alone"},
    {"--debug", "", "everything on stderr"},
};

// Returns "; did you mean --space cnn?" for the name of a space where a command takes one; else "".
std::string space_hint(const Command& command, const std::string& word) {
  const bool takes_space =
      std::ranges::find(command.options, "--space", &Option::name) != command.options.end();
  const bool is_space =
      word.ends_with(".yaml") || word.ends_with(".yml") || find_space(word) != word;
  return takes_space && is_space ? fmt::format("; did you mean --space {}?", printable(word)) : "";
}

// Returns them in the order of `detol --help`.
std::vector<Command> all_commands() {
  std::vector<Command> all;
  for (const auto& some : std::vector<std::vector<Command>>{
           {search_command(), tune_command()},
           ask_commands(),
           {explore_command(), resume_command(), simulate_command(), worker_command(),
            slurm_command(), new_command(), validate_command(), schema_command()},
           status_commands(),
           study_commands(),
           {trials_command(), trial_command(), best_command(), pareto_command(),
            importance_command(), compare_command(), similar_command(), report_command(),
            dashboard_command(), plot_command(), query_command(), test_command(), retrain_command(),
            prune_command(), quantize_command(), landscape_command(), ensemble_command(),
            export_command(), predict_command()},
           db_commands(),
           db_exchange_commands(),
           data_commands(),
           {doctor_command(), bench_command(), completion_command(), man_command()}})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

Result<void> apply_globals(Arguments& arguments) {
  Globals& globals = arguments.globals;
  const char* storage = std::getenv("DETOL_STORAGE");  // NOLINT(concurrency-mt-unsafe)
  globals.storage = arguments.text("storage", storage != nullptr ? storage : "detol.db");
  if (globals.storage.empty()) return usage_error("--storage is empty");
  std::error_code ignored;
  if (!std::filesystem::exists(globals.storage, ignored))
    globals.storage = at_home(globals.storage).string();
  DETOL_TRY(check_path("--storage", globals.storage));
  const std::string format = arguments.text("format", "table");
  globals.format = format == "json"    ? Format::kJson
                   : format == "jsonl" ? Format::kJsonl
                   : format == "csv"   ? Format::kCsv
                                       : Format::kTable;
  globals.color = wants_color(arguments.text("color", "auto"), STDOUT_FILENO);
  if (::isatty(STDOUT_FILENO) == 1) globals.width = screen_at(STDOUT_FILENO, false).columns;
  std::istringstream columns(arguments.text("columns"));
  for (std::string name; std::getline(columns, name, ',');) globals.columns.push_back(name);
  globals.quiet = arguments.has("quiet");
  LogOptions& log = globals.log;
  log.file = arguments.text("log-file");
  DETOL_TRY(check_path("--log-file", log.file));
  if (globals.quiet) log.level = LogLevel::kWarning;
  if (arguments.has("verbose") || arguments.has("debug")) log.level = LogLevel::kDebug;
  return set_up_log(log);
}

}  // namespace

const CommandTable& command_table() {
  static const std::vector<Command> kCommands = all_commands();
  static const CommandTable kTable{kCommands, kGroups, kGlobals};
  return kTable;
}

Result<Call> parse(const std::vector<std::string>& words) {
  DETOL_ASSIGN(Call call, parse(command_table(), words, space_hint));
  if (call.command != nullptr) DETOL_TRY(apply_globals(call.arguments));
  return call;
}

Result<int> run_call(const Call& call) {
  return call.command->run(call.arguments).map_error([&](Error error) {
    return as_written(std::move(error), call.arguments);
  });
}

Result<OpenStudy> open_study_of(const Arguments& arguments) {
  return open_study(arguments.globals.storage, arguments.text("STUDY"));
}

Result<int> show(const Rows& rows, const Globals& globals) {
  return print_rows(rows, globals).map([] { return 0; });
}

Result<int> show(const Result<Rows>& rows, const Globals& globals) {
  return rows ? show(*rows, globals) : tl::unexpected(rows.error());
}

Result<int> show_record(const Result<Rows>& record, const Globals& globals) {
  if (!record) return tl::unexpected(record.error());
  return print_record(*record, globals).map([] { return 0; });
}

Result<int> show(const std::string& text) {
  return print_data(text).map([] { return 0; });
}

}  // namespace detol::inline cli

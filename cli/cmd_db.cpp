// `db check|backup|restore|recover|vacuum`: verifies, copies, restores, repairs and shrinks the
// knowledge base.

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "cli/commands.h"
#include "core/log.h"
#include "knowledge/backup.h"
#include "knowledge/check.h"
#include "knowledge/maintenance.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kKept = 3;  // backups kept at the default path

Rows record_of(const Counts& counts) {
  return {.columns = {"studies", "trials", "rows"},
          .rows = {{counts.studies, counts.trials, counts.rows}}};
}

// Prints the row of `first` and, in the same row, the counts of the database at `path`.
Result<int> print_counted(Rows first, const fs::path& path, const Globals& globals) {
  DETOL_ASSIGN(const Counts counts, count(path));
  const Rows counted = record_of(counts);
  first.columns.insert(first.columns.end(), counted.columns.begin(), counted.columns.end());
  first.rows.front().insert(first.rows.front().end(), counted.rows.front().begin(),
                            counted.rows.front().end());
  return show_record(first, globals);
}

Cell cell_of(const std::optional<fs::path>& path) {
  return path ? Cell(path->string()) : Cell();
}

Result<void> print_problems(const std::vector<std::string>& problems, const Globals& globals) {
  Rows rows{.columns = {"problem"}, .rows = {}};
  for (const std::string& problem : problems) rows.rows.push_back({problem});
  return print_rows(rows, globals);
}

// Compares with the backup of --against, or with the last one. If the last one is unreadable, this
// is a warning only.
Result<std::vector<std::string>> compare_with_backup(const Arguments& arguments) {
  const std::string& storage = arguments.globals.storage;
  if (arguments.has("against")) return compare(storage, arguments.text("against"));
  const auto backup = last_backup(storage);
  if (!backup) return std::vector<std::string>();
  auto differences = compare(storage, *backup);
  if (differences) {
    for (std::string& difference : *differences) difference += fmt::format(" {}", backup->string());
    return differences;
  }
  log_warning("the last backup is not compared: {}", differences.error().message);
  return std::vector<std::string>();
}

Result<int> run_check(const Arguments& arguments) {
  const Globals& globals = arguments.globals;
  DETOL_ASSIGN(auto problems, check(globals.storage));
  if (problems.empty()) {
    DETOL_ASSIGN(problems, compare_with_backup(arguments));
  }
  if (!problems.empty()) {
    DETOL_TRY(print_problems(problems, globals));
    return fail(
        ErrorCode::kStorage,
        fmt::format(
            "{} is not sound (problems: {}); `detol db restore` goes back to the last backup",
            globals.storage, problems.size()));
  }
  DETOL_ASSIGN(const Counts counts, count(globals.storage));
  if (globals.format != Format::kTable) return show_record(record_of(counts), globals);
  return show(fmt::format("sound: {} studies, {} trials, {} rows\n", counts.studies, counts.trials,
                          counts.rows));
}

Result<void> make_backup(const Arguments& arguments, const fs::path& file) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const auto keep, arguments.number("keep", 1));
  if (arguments.has("FILE") && !keep) return back_up(storage, file, arguments.has("force"));
  return back_up_rotating(storage, file, keep.value_or(kKept));
}

Result<int> run_backup(const Arguments& arguments) {
  const fs::path file = arguments.has("FILE") ? fs::path(arguments.text("FILE"))
                                              : default_backup(arguments.globals.storage);
  DETOL_TRY(make_backup(arguments, file));
  std::error_code ignored;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(file, ignored));
  return print_counted({.columns = {"file", "bytes"}, .rows = {{file.string(), bytes}}}, file,
                       arguments.globals);
}

Result<int> run_restore(const Arguments& arguments) {
  const std::string& storage = arguments.globals.storage;
  const auto backup = arguments.has("FILE") ? std::optional<fs::path>(arguments.text("FILE"))
                                            : last_backup(storage);
  if (!backup) {
    return usage_error("there is no backup {}; name one: `detol db restore FILE`",
                       default_backup(storage).string());
  }
  DETOL_ASSIGN(const auto aside, restore(storage, *backup));
  return print_counted(
      {.columns = {"backup", "replaced"}, .rows = {{backup->string(), cell_of(aside)}}}, storage,
      arguments.globals);
}

Result<int> run_recover(const Arguments& arguments) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const auto log, recover(storage));
  if (!log) log_info("{}: nothing to recover: its log is sound", storage);
  return print_counted({.columns = {"damaged_log"}, .rows = {{cell_of(log)}}}, storage,
                       arguments.globals);
}

Result<int> run_vacuum(const Arguments& arguments) {
  DETOL_ASSIGN(const Vacuumed sizes, vacuum(arguments.globals.storage));
  return show_record(Rows{.columns = {"bytes_before", "bytes_after"},
                          .rows = {{sizes.bytes_before, sizes.bytes_after}}},
                     arguments.globals);
}

}  // namespace

std::vector<Command> db_commands() {
  return {{.name = "db check",
           .summary = "examine the knowledge base: structure, log, indexes, every row's checksum",
           .options = {{"--against", "FILE",
                        "and that all of this backup is in it still; default: the last one"}},
           .examples = "  detol db check\n"
                       "  detol db check --against /backup/detol.db",
           .run = run_check},
          {.name = "db backup",
           .summary = "copy the knowledge base to a file and verify it, also while a search runs",
           .options = {{"FILE", "", "where to; default <storage>.backup, with --keep 3"},
                       {"--keep", "N",
                        "keep the N newest: FILE, FILE.1, FILE.2, ...; default: FILE alone, which "
                        "must be new"},
                       {"--force", "", "replace FILE if it exists"}},
           .examples = "  detol db backup\n"
                       "  detol db backup /backup/detol.db --keep 7",
           .run = run_backup},
          {.name = "db restore",
           .summary = "go back to a backup; what was there stays beside it",
           .options = {{"FILE", "", "the backup; default the last of `db backup`"}},
           .examples = "  detol db restore /backup/detol.db",
           .run = run_restore},
          {.name = "db recover",
           .summary = "accept what a damaged log lost: keep what precedes the damage",
           .options = {},
           .examples = "  detol db recover",
           .run = run_recover},
          {.name = "db vacuum",
           .summary = "give the room of deleted studies back to the disk",
           .options = {},
           .examples = "  detol db vacuum",
           .run = run_vacuum}};
}

}  // namespace detol::inline cli

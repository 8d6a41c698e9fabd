// `db check|backup`: is the knowledge base what was written, and a copy of it.

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "cli/commands.h"
#include "cli/output.h"
#include "core/log.h"
#include "knowledge/backup.h"
#include "knowledge/check.h"

namespace detol {
namespace {

std::string sentence(const Counts& counts) {
  return fmt::format("sound: {} studies, {} trials, {} rows\n", counts.studies, counts.trials,
                     counts.rows);
}

Rows record_of(const Counts& counts) {
  return {.columns = {"studies", "trials", "rows"},
          .rows = {{counts.studies, counts.trials, counts.rows}}};
}

Result<void> print_problems(const std::vector<std::string>& problems, const Globals& globals) {
  Rows rows{.columns = {"problem"}, .rows = {}};
  for (const std::string& problem : problems) rows.rows.push_back({problem});
  return print_data(render(rows, globals));
}

Result<int> run_check(const Arguments& arguments) {
  const Globals& globals = arguments.globals;
  DETOL_ASSIGN(auto problems, check(globals.storage));
  if (problems.empty() && arguments.has("against")) {
    DETOL_ASSIGN(problems, compare(globals.storage, arguments.text("against")));
  }
  if (!problems.empty()) {
    DETOL_TRY(print_problems(problems, globals));
    return fail(ErrorCode::kStorage, fmt::format("{} is damaged ({} problems); restore a backup",
                                                 globals.storage, problems.size()));
  }
  DETOL_ASSIGN(const Counts counts, count(globals.storage));
  const bool is_text = globals.format == Format::kTable;
  DETOL_TRY(print_data(is_text ? sentence(counts) : render_record(record_of(counts), globals)));
  return 0;
}

Result<int> run_backup(const Arguments& arguments) {
  const std::string file = arguments.text("FILE");
  DETOL_TRY(back_up(arguments.globals.storage, file, arguments.has("force")));
  DETOL_ASSIGN(const Counts counts, count(file));
  Rows rows = record_of(counts);
  rows.columns.insert(rows.columns.begin(), {"file", "bytes"});
  std::error_code ignored;
  rows.rows.front().insert(
      rows.rows.front().begin(),
      {Cell(file), Cell(static_cast<std::int64_t>(std::filesystem::file_size(file, ignored)))});
  return print_data(render_record(rows, arguments.globals)).map([] { return 0; });
}

}  // namespace

Command db_check_command() {
  return {.name = "db check",
          .summary = "examine the knowledge base: structure, indexes, every row's checksum",
          .options = {{"--against", "FILE", "and that all of this older backup is in it still"}},
          .examples =
              "  detol db check\n"
              "  detol db check --against /backup/detol.db",
          .run = run_check};
}

Command db_backup_command() {
  return {.name = "db backup",
          .summary = "copy the knowledge base to a file and verify it, also while a search runs",
          .options = {{"FILE", "", "where to", Option::kRequired},
                      {"--force", "", "replace it if it exists"}},
          .examples = "  detol db backup /backup/detol.db --force",
          .run = run_backup};
}

}  // namespace detol

// `db export` and `db merge`: studies for other programs, and from other databases.

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "cli/commands.h"
#include "core/file.h"
#include "core/log.h"
#include "knowledge/exchange/merge.h"
#include "knowledge/exchange/optuna.h"
#include "knowledge/query.h"
#include "printing/output.h"
#include "studies/trial_file.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

// Returns the study that --study names, or all.
Result<std::vector<NamedHistories>> studies_to_export(const Arguments& arguments) {
  DETOL_ASSIGN(const auto reader, Reader::open(arguments.globals.storage));
  std::vector<StudyRecord> records;
  if (arguments.has("study")) {
    DETOL_ASSIGN(StudyRecord record, reader->study(arguments.text("study")));
    records.push_back(std::move(record));
  } else {
    DETOL_ASSIGN(records, reader->studies());
  }
  if (records.empty()) {
    return fail(ErrorCode::kEmpty,
                fmt::format("{} has no study to export", arguments.globals.storage));
  }
  std::vector<NamedHistories> studies;
  for (StudyRecord& record : records) {
    DETOL_ASSIGN(const auto events, reader->events(record.id));
    auto trials = histories_of(events, record.objectives);
    studies.push_back({std::move(record), std::move(trials)});
  }
  return studies;
}

Result<void> export_to_optuna(std::vector<NamedHistories> studies, const fs::path& path) {
  std::vector<OptunaStudy> optuna;
  for (NamedHistories& study : studies) {
    const StudyRecord& record = study.study;
    DETOL_ASSIGN(const StudyConfig config, load_study_config(record.config, record.name));
    optuna.push_back({record.name, record.objectives, config.space, std::move(study.trials)});
  }
  return write_optuna(path, optuna);
}

Result<int> run_db_export(const Arguments& arguments) {
  const std::string to = arguments.text("to");
  const fs::path path = arguments.text("output");
  if (to == "optuna" && path.empty())
    return fail(ErrorCode::kUsage, "--to optuna writes a database; name it by -o FILE");
  std::error_code ignored;
  if (!path.empty() && fs::exists(path, ignored) && !arguments.has("force")) {
    return fail(ErrorCode::kUsage,
                fmt::format("{} exists; --force replaces it, or choose another -o", path.string()));
  }
  if (fs::equivalent(path, arguments.globals.storage, ignored))
    return fail(ErrorCode::kUsage, "-o is the knowledge base itself; choose another file");
  DETOL_ASSIGN(auto studies, studies_to_export(arguments));
  if (to == "optuna") return export_to_optuna(std::move(studies), path).map([] { return 0; });
  Globals csv = arguments.globals;
  csv.format = Format::kCsv;
  std::string text = to == "csv" ? std::string() : trials_json(studies);
  if (to == "csv") {
    DETOL_ASSIGN(text, render(trial_table(studies), csv));
  }
  const auto done = path.empty() ? print_data(text) : write_output(path, text);
  return done.map([] { return 0; });
}

Result<int> run_merge(const Arguments& arguments) {
  const std::vector<std::string> files = arguments.all("FILE");
  if (files.empty()) return fail(ErrorCode::kUsage, "FILE is missing (the databases to merge)");
  Rows rows{.columns = {"file", "study", "as", "result", "trials", "files"}, .rows = {}};
  for (const std::string& file : files) {
    DETOL_ASSIGN(const auto merged, merge(arguments.globals.storage, file));
    for (const MergedStudy& one : merged) {
      if (one.study != one.as)
        log_info("study {} of {} is called {} here", one.study, file, one.as);
      rows.rows.push_back(
          {file, one.study, one.as, std::string(to_text(one.result)), one.trials, one.files});
    }
  }
  return show(rows, arguments.globals);
}

}  // namespace

Command db_export_command() {
  return {.name = "db export",
          .summary = "write trials for other programs",
          .options = {{"--to",
                       "FORMAT",
                       "csv: a row per trial; json: with curves; optuna: a database of Optuna",
                       Option::kRequired,
                       {"csv", "json", "optuna"}},
                      {"--study", "NAME", "only this study; default: all"},
                      {"-o,--output", "FILE", "where to; default: standard output"},
                      {"--force", "", "replace FILE if it exists"}},
          .examples =
              "  detol db export --to csv --study fashion-cnn -o trials.csv\n"
              "  detol db export --to optuna -o optuna.db",
          .run = run_db_export};
}

Command db_merge_command() {
  return {
      .name = "db merge",
      .summary = "add the studies of other databases to this one; again changes nothing",
      .options = {{"FILE", "", "a database; several are merged in this order", Option::kRepeated}},
      .examples = "  detol db merge laptop.db cluster.db --storage all.db",
      .run = run_merge};
}

}  // namespace detol::inline cli

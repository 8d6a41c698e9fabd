// `db import|export|merge`: studies from and for other programs, and from other databases.

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "cli/commands.h"
#include "cli/settings.h"
#include "core/log.h"
#include "knowledge/exchange/merge.h"
#include "knowledge/exchange/optuna.h"
#include "knowledge/query.h"
#include "knowledge/studies.h"
#include "studies/trial_file.h"
#include "studies/trial_import.h"
#include "trainer/evaluator.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

// Describes the data, without which candidates have no network and the study cannot be resumed.
DatasetInfo data_of(const StudyConfig& config) {
  auto data = inspect_study(config);
  if (data) return *std::move(data);
  log_warning("imported without data ({}): no sizes of networks, and no resume",
              data.error().message);
  return {};
}

Result<int> run_import(const Arguments& arguments) {
  DETOL_ASSIGN(const StudyConfig config, read_space(arguments));
  DETOL_TRY(check_new_name(config.study));
  const TrialFile file{arguments.text("FILE"), arguments.text("from"), arguments.text("metric")};
  DETOL_ASSIGN(auto histories, read_finished(file, config));
  const auto count = static_cast<std::int64_t>(histories.size());
  DETOL_TRY(
      import_trials(arguments.globals.storage, config, data_of(config), std::move(histories)));
  return show_record(Rows{.columns = {"study", "trials"}, .rows = {{config.study, count}}},
                     arguments.globals);
}

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
    return usage_error("--to optuna writes a database; name it by -o FILE");
  std::error_code ignored;
  if (!path.empty() && fs::exists(path, ignored) && !arguments.has("force")) {
    return usage_error("{} exists; --force replaces it, or choose another -o", path.string());
  }
  if (fs::equivalent(path, arguments.globals.storage, ignored))
    return usage_error("-o is the knowledge base itself; choose another file");
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
  if (files.empty()) return usage_error("FILE is missing (the databases to merge)");
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

std::vector<Command> db_exchange_commands() {
  return {
      {.name = "db import",
       .summary = "make a study of trials that another program measured",
       .options = {{"FILE", "", "a database of Optuna, a CSV file, JSON lines or a JSON array",
                    Option::kRequired},
                   {"--space", "FILE", "the space file that the trials are of", Option::kRequired},
                   {"--study", "NAME", "the new study's name", Option::kRequired},
                   {"--from", "STUDY", "the study to import; default: the only one of FILE"},
                   {"--metric", "NAME",
                    "the objective that FILE's `value`, or Optuna's intermediate values, are; "
                    "default: the first"},
                   {"--data", "PATH", "where the data is; default: the file's data.path"},
                   {"--set", "KEY=VALUE", "change a key of the space file", Option::kRepeated}},
       .examples = "  detol db import optuna.db --space my.yaml --study old --from tuning\n"
                   "  detol db import trials.csv --space my.yaml --study old",
       .run = run_import},

      {.name = "db export",
       .summary = "write trials for other programs",
       .options = {{"--to",
                    "FORMAT",
                    "csv: a row per trial; json: with curves; optuna: a database of Optuna",
                    Option::kRequired,
                    {"csv", "json", "optuna"}},
                   {"--study", "NAME", "only this study; default: all"},
                   {"-o,--output", "FILE", "where to; default: standard output"},
                   {"--force", "", "replace FILE if it exists"}},
       .examples = "  detol db export --to csv --study fashion-cnn -o trials.csv\n"
                   "  detol db export --to optuna -o optuna.db",
       .run = run_db_export},
      {.name = "db merge",
       .summary = "add the studies of other databases to this one; again changes nothing",
       .options = {{"FILE", "", "a database; several are merged in this order", Option::kRepeated}},
       .examples = "  detol db merge laptop.db cluster.db --storage all.db",
       .run = run_merge}};
}

}  // namespace detol::inline cli

// `report` writes a study as one HTML file; what is in it is the room report/.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.h"
#include "cli/importance.h"
#include "cli/labels.h"
#include "cli/model_rows.h"
#include "cli/output.h"
#include "cli/trial_rows.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/hash.h"
#include "export/export.h"
#include "knowledge/artefacts.h"
#include "report/report.h"
#include "trainer/data/preprocessing.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRuns = R"sql(
SELECT r.started, r.command, r.version, r.host_name, r.backend, r.workers, h.cpu, h.cores, h.gpus_json
FROM v_runs r LEFT JOIN v_hosts h USING (host) WHERE r.study = ?1 ORDER BY r.started)sql";

// Returns the rows, or none where an older detol wrote the database and it has no such view.
Rows rows_if_any(Reader& reader, const std::string& sql, const std::string& argument) {
  auto rows = reader.select(sql, {argument});
  return rows ? *std::move(rows) : Rows();
}

// Returns what networks of the study are for, without reading its data. Errors: kEmpty if it has no
// networks; else that this is not recorded.
Result<Task> task_of(const OpenStudy& study, const StudyConfig& config, const fs::path& storage) {
  if (config.network_task) return *config.network_task;
  if (!config.has_networks())
    return fail(ErrorCode::kEmpty, "The candidates of this study are no networks.");
  DETOL_ASSIGN(const fs::path folder, find_artefacts(storage, study.record.name));
  const auto made = read_preprocessing(folder / kPreprocessingFile);
  if (made) return made->task;
  return fail(ErrorCode::kEmpty,
              "The form of its data is not recorded here: " + made.error().message + ".");
}

// Returns the best trials, each with a network that none before has.
Result<std::vector<ShownNetwork>> best_networks(const OpenStudy& study, const StudyConfig& config,
                                                const fs::path& storage) {
  constexpr std::int64_t kLookedAt = 50;
  constexpr std::size_t kShown = 3;
  DETOL_ASSIGN(const Task task, task_of(study, config, storage));
  DETOL_ASSIGN(
      const Rows rows,
      trial_rows(study,
                 {.sort = "value", .top = kLookedAt, .only_scored = true, .only_feasible = true}));
  std::vector<ShownNetwork> networks;
  std::set<std::uint64_t> known;
  for (std::size_t row = 0; row < rows.rows.size() && networks.size() < kShown; ++row) {
    DETOL_ASSIGN(const Genome genome, genome_of(config, rows, row));
    const auto candidate = config.candidate(genome, task);
    if (!candidate || !known.insert(candidate->arch_hash).second) continue;
    ShownNetwork shown{.trial = trial_of(rows, row), .network = candidate->network};
    auto drawn = drawing_of(shown.network);
    if (drawn)
      shown.svg = *std::move(drawn);
    else
      shown.why_no_svg = drawn.error().message;
    networks.push_back(std::move(shown));
  }
  return networks;
}

// Adds what may be missing, each with why.
void add_analyses(const OpenStudy& study, const fs::path& storage, ReportSource& source) {
  auto importance = measure_importance(study, source.config, "");
  if (importance)
    source.importance = *std::move(importance);
  else
    source.why_no_importance = importance.error().message;
  auto networks = best_networks(study, source.config, storage);
  if (networks)
    source.networks = *std::move(networks);
  else
    source.why_no_networks = networks.error().message;
  if (networks && source.networks.empty())
    source.why_no_networks = "No trial with a network has reported a number yet.";
  const auto best = one_trial(study, "best");
  if (best) source.best = trial_of(*best, 0);
  // A search that runs may have proposed more trials since the others were read.
  const TrialId known = source.trials.rows.size();
  if (source.best && *source.best >= known) source.best.reset();
  std::erase_if(source.networks, [&](const ShownNetwork& one) { return one.trial >= known; });
}

Result<ReportSource> read_source(const OpenStudy& study, const fs::path& storage) {
  ReportSource source;
  source.study = study.record;
  const std::string& name = study.record.name;
  DETOL_ASSIGN(source.config, load_study_config(study.record.config, name));
  DETOL_ASSIGN(
      source.trials,
      study.reader->select("SELECT * FROM v_trials WHERE study = ?1 ORDER BY trial", {name}));
  DETOL_ASSIGN(source.events, study.reader->events(study.record.id));
  DETOL_ASSIGN(source.models, models_of(study));
  DETOL_ASSIGN(source.labels, read_labels(*study.reader, study.record));
  source.runs = rows_if_any(*study.reader, kRuns, name);
  source.dataset = rows_if_any(*study.reader, "SELECT * FROM v_datasets WHERE dataset = ?1",
                               to_hex(study.record.data_fingerprint));
  add_analyses(study, storage, source);
  source.version = DETOL_VERSION;
  source.now_s = system_clock().wall_s();
  return source;
}

// Returns the file's name without what could be a folder or an option.
std::string default_path(const std::string& study) {
  std::string name;
  for (const char c : study) {
    const bool is_safe = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                         (c == '.' && !name.empty());
    name += is_safe && (c != '-' || !name.empty()) ? c : '_';
  }
  return (name.empty() ? "study" : name) + ".html";
}

Result<void> check_target(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {};
  return fail(ErrorCode::kUsage,
              fmt::format("{} is a folder; -o takes the name of a file", path.string()));
}

Result<int> run_report(const Arguments& arguments) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study(storage, arguments.text("STUDY")));
  const std::string& name = study.record.name;
  const fs::path path = arguments.text("output", default_path(name));
  DETOL_TRY(check_target(path));
  DETOL_ASSIGN(const ReportSource source, read_source(study, storage));
  DETOL_ASSIGN(const std::string page, page_of(model_of(source), name));
  DETOL_TRY(write_file_durably(path, page));
  const Rows written{.columns = {"study", "file", "bytes"},
                     .rows = {{name, path.string(), static_cast<std::int64_t>(page.size())}}};
  DETOL_TRY(print_data(render(written, arguments.globals)));
  return 0;
}

}  // namespace

Command report_command() {
  return {.name = "report",
          .summary = "write a study as one HTML file that opens without a network",
          .options = {{"STUDY", "", "its name; default: the newest study"},
                      {"-o,--output", "FILE", "default: STUDY.html, here"}},
          .examples =
              "  detol report\n"
              "  detol report fashion-cnn -o fashion.html",
          .run = run_report};
}

}  // namespace detol::inline cli

#include "report/gathering/report_source.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/clock.h"
#include "core/file.h"
#include "core/hash.h"
#include "export/export.h"
#include "knowledge/artefacts.h"
#include "models/landscape.h"
#include "studies/best_trial.h"
#include "studies/importance.h"
#include "studies/labels.h"
#include "studies/model_rows.h"
#include "trainer/data/preprocessing.h"

namespace detol::inline report {
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
                                                const fs::path& storage,
                                                const std::optional<std::vector<TrialId>>& among) {
  constexpr std::size_t kMostPictured = 3;
  DETOL_ASSIGN(const Task task, task_of(study, config, storage));
  DETOL_ASSIGN(const auto trials, trials_of(study, {.sort = "value",
                                                    .top = kLookedAtForNetworks,
                                                    .only_scored = true,
                                                    .only_feasible = true,
                                                    .among = among}));
  std::vector<ShownNetwork> networks;
  std::set<std::uint64_t> known;
  for (const TrialSummary& one : trials) {
    if (networks.size() == kMostPictured) break;
    DETOL_ASSIGN(const Genome genome, genome_of(config, one));
    const auto candidate = config.candidate(genome, task);
    if (!candidate || !known.insert(candidate->arch_hash).second) continue;
    ShownNetwork shown{.trial = one.id, .network = candidate->network};
    auto drawn = drawing_of(shown.network);
    if (drawn)
      shown.svg = *std::move(drawn);
    else
      shown.why_no_svg = drawn.error().message;
    networks.push_back(std::move(shown));
  }
  return networks;
}

}  // namespace

void add_importance(const OpenStudy& study, const std::optional<std::vector<TrialId>>& among,
                    ReportSource& source) {
  auto importance = measure_importance(study, source.config, "", among);
  if (importance)
    source.importance = *std::move(importance);
  else
    source.why_no_importance = importance.error().message;
}

void add_networks(const OpenStudy& study, const std::string& storage,
                  const std::optional<std::vector<TrialId>>& among, ReportSource& source) {
  auto networks = best_networks(study, source.config, storage, among);
  if (!networks) {
    source.why_no_networks = networks.error().message;
    return;
  }
  source.networks = *std::move(networks);
  if (source.networks.empty())
    source.why_no_networks = "No trial with a network has reported a number yet.";
}

namespace {

// Leaves out the test scores of trials whose values are of another epoch by now.
Result<void> leave_out_outdated(const OpenStudy& study, std::vector<event::Model>& models) {
  std::vector<TrialId> ids;
  for (const event::Model& model : models)
    if (model.kind == ModelKind::kTestedTrial) ids.push_back(model.trial);
  if (ids.empty()) return {};
  DETOL_ASSIGN(const auto trials, trials_of(study, {.among = std::move(ids)}));
  std::erase_if(models, [&](const event::Model& model) {
    return model.kind == ModelKind::kTestedTrial &&
           std::ranges::none_of(trials, [&](const TrialSummary& trial) {
             return trial.id == model.trial && trial.best_epoch == model.epochs;
           });
  });
  return {};
}

void add_analyses(const OpenStudy& study, const std::string& storage, ReportSource& source) {
  add_importance(study, {}, source);
  add_networks(study, storage, {}, source);
  const auto best = trial_called(study, "best");
  if (best) source.best = best->id;
  // A search that runs may have proposed more trials since the others were read.
  const TrialId known = source.trials.rows.size();
  if (source.best && *source.best >= known) source.best.reset();
  std::erase_if(source.networks, [&](const ShownNetwork& one) { return one.trial >= known; });
  add_landscapes(study, storage, source);
}

}  // namespace

void add_landscapes(const OpenStudy& study, const std::string& storage, ReportSource& source) {
  constexpr std::size_t kMostLandscapes = 8, kLargestFile = 8 << 20;
  const auto artefacts = find_artefacts(storage, study.record.name);
  if (!artefacts) return;
  std::vector<std::pair<bool, std::string>> names;  // the best trial's file is first
  std::error_code error;
  for (fs::directory_iterator at(landscape_folder(*artefacts), error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != ".json") continue;
    const std::string trial = at->path().stem().string();
    names.emplace_back(!source.best || trial != std::to_string(*source.best), trial);
  }
  std::ranges::sort(names);
  for (const auto& [is_not_best, trial] : names) {
    if (source.landscapes.size() == kMostLandscapes) break;
    auto text = read_file(landscape_folder(*artefacts) / (trial + ".json"), kLargestFile);
    if (text) source.landscapes.push_back(*std::move(text));
  }
}

Result<ReportSource> read_facts(const OpenStudy& study) {
  ReportSource source;
  source.study = study.record;
  const std::string& name = study.record.name;
  DETOL_ASSIGN(source.config, load_study_config(study.record.config, name));
  DETOL_ASSIGN(source.models, models_of(study));
  DETOL_TRY(leave_out_outdated(study, source.models));
  DETOL_ASSIGN(source.labels, read_labels(*study.reader, study.record));
  source.runs = rows_if_any(*study.reader, kRuns, name);
  source.dataset = rows_if_any(*study.reader, "SELECT * FROM v_datasets WHERE dataset = ?1",
                               to_hex(study.record.data_fingerprint));
  source.version = DETOL_VERSION;
  source.now_s = system_clock().wall_s();
  return source;
}

Result<ReportSource> read_source(const OpenStudy& study, const std::string& storage) {
  DETOL_ASSIGN(ReportSource source, read_facts(study));
  DETOL_ASSIGN(source.trials,
               study.reader->select("SELECT * FROM v_trials WHERE study = ?1 ORDER BY trial",
                                    {study.record.name}));
  DETOL_ASSIGN(source.events, study.reader->events(study.record.id));
  add_analyses(study, storage, source);
  return source;
}

}  // namespace detol::inline report

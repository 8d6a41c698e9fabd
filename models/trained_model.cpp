#include "models/trained_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "knowledge/artefacts.h"
#include "trainer/checkpoint.h"
#include "trainer/data/formats/formats.h"
#include "trainer/quantization/quantize.h"

namespace detol::inline models {
namespace {

namespace fs = std::filesystem;

// Scored: what the knowledge base stores about a trial.
struct Scored {
  TrialId trial = 0;
  TrialId trained_as = 0;  // the trial of another study whose checkpoints it shares, or itself
  double epochs = 0;       // at its last report, whose checkpoint has the weights
  double best_epoch = 0;   // of the report that the value is of
  // Of that report, by name.
  std::vector<std::pair<std::string, double>> metrics = {};
  fs::path folder;  // with its checkpoints
};

// Returns the trial of another study whose training the trial took over, if it did.
std::optional<TrialId> trained_as(const TrialSummary& trial) {
  const auto reason = end_reason_from(trial.state, trial.reason);
  if (!reason || reason->cause != EndCause::kSameTrial || reason->detail.empty())
    return std::nullopt;
  return reason->same_as;
}

Result<Scored> scored_of(const OpenStudy& study, const fs::path& storage,
                         const TrialSummary& trial) {
  if (trial.epochs == 0)
    return fail(ErrorCode::kEmpty, fmt::format("trial {} was never trained", trial.id));
  Scored scored{.trial = trial.id,
                .trained_as = trained_as(trial).value_or(trial.id),
                .epochs = trial.epochs,
                .best_epoch = trial.best_epoch,
                .metrics = trial.metrics};
  DETOL_ASSIGN(const fs::path folder, find_artefacts(storage, study.record.name));
  scored.folder = folder / std::to_string(scored.trial);
  return scored;
}

bool is_recorded(const Metric& metric,
                 const std::vector<std::pair<std::string, double>>& recorded) {
  const auto found = std::ranges::find(recorded, metric.name,
                                       [](const auto& one) { return std::string_view(one.first); });
  if (found == recorded.end()) return false;
  if (!std::isfinite(found->second)) return !std::isfinite(metric.value);
  return found->second == metric.value;
}

// Returns why the checkpoint's weights are not the scored ones; empty if they are.
std::string mismatch(const Checkpoint& checkpoint, const Scored& scored, std::uint64_t arch_hash) {
  if (checkpoint.trial != scored.trained_as)
    return fmt::format("it is trial {}'s checkpoint", checkpoint.trial);
  if (checkpoint.arch_hash != arch_hash) return "its checkpoint is another network's";
  const EpochReport* best = best_report(checkpoint);
  if (best == nullptr || best->epochs() != scored.best_epoch ||
      (checkpoint.best.empty() && best->step != checkpoint.step))
    return "its checkpoint is of another epoch";
  for (const Metric& metric : best->metrics) {
    if (!is_recorded(metric, scored.metrics))
      return fmt::format("its checkpoint has {} = {}, which was not reported", metric.name,
                         metric.value);
  }
  return {};
}

Result<Checkpoint> scored_checkpoint(const OpenStudy& study, const Scored& scored,
                                     std::uint64_t arch_hash) {
  auto checkpoint = read_checkpoint(scored.folder, scored.epochs);
  std::string why = checkpoint ? mismatch(*checkpoint, scored, arch_hash) : std::string();
  if (checkpoint && why.empty()) return checkpoint;
  why = checkpoint ? scored.folder.string() + ": " + why : checkpoint.error().message;
  return fail(
      ErrorCode::kExport,
      fmt::format("trial {} is not here as it was scored, after epoch {:.3g}: {}; take another "
                  "trial (detol best {} --top 10)",
                  scored.trial, scored.best_epoch, why, study.record.name));
}

Result<StudyConfig> config_of(const OpenStudy& study) {
  DETOL_ASSIGN(StudyConfig config, load_study_config(study.record.config, study.record.name));
  if (config.trains()) return config;
  return fail(ErrorCode::kEmpty, fmt::format("study {} scores a {} and trains no network",
                                             study.record.name, config.scorer()));
}

}  // namespace

Result<StudyData> load_study_data(const OpenStudy& study) {
  StudyData shared;
  DETOL_ASSIGN(shared.config, config_of(study));
  DETOL_ASSIGN(shared.data, load_dataset(shared.config.data));
  shared.preprocessing = preprocessing_of(*shared.data);
  if (shared.preprocessing.fingerprint == study.record.data_fingerprint) return shared;
  return fail(ErrorCode::kExport, fmt::format("{} is not the data that study {} was trained on",
                                              shared.config.data.path, study.record.name));
}

Result<StudyData> describe_study_data(const OpenStudy& study, const fs::path& storage) {
  StudyData shared;
  DETOL_ASSIGN(shared.config, config_of(study));
  DETOL_ASSIGN(const fs::path folder, find_artefacts(storage, study.record.name));
  auto written = read_preprocessing(folder / kPreprocessingFile);
  if (!written || written->fingerprint != study.record.data_fingerprint)
    return load_study_data(study);
  shared.preprocessing = *std::move(written);
  return shared;
}

Result<TrainedNetwork> trained_network(const OpenStudy& study, const StudyData& shared,
                                       const fs::path& storage, const TrialSummary& trial) {
  DETOL_ASSIGN(const Scored scored, scored_of(study, storage, trial));
  DETOL_ASSIGN(Genome genome, genome_of(shared.config, trial));
  auto candidate = shared.config.candidate(genome, shared.preprocessing.task);
  if (!candidate) return fail(ErrorCode::kExport, candidate.error().reason);
  DETOL_ASSIGN(Checkpoint checkpoint, scored_checkpoint(study, scored, candidate->arch_hash));
  return TrainedNetwork{scored.trial, scored.best_epoch, *std::move(candidate), std::move(genome),
                        std::move(checkpoint)};
}

Result<Model> exported_model(const OpenStudy& study, const StudyData& shared,
                             TrainedNetwork network) {
  const Preprocessing& made = shared.preprocessing;
  Model model{.network = std::move(network.candidate.network),
              .weights = best_weights(network.checkpoint),
              .mean = made.mean,
              .deviation = made.deviation,
              .class_names = made.class_names,
              .properties = {{"study", study.record.name},
                             {"trial", std::to_string(network.trial)},
                             {"epoch", fmt::format("{:.6g}", network.best_epoch)},
                             {"data", shared.config.data.path}},
              .parameters = network.genome.assignments(),
              .metrics = best_report(network.checkpoint)->metrics,
              .check = {},
              .task = made.task.kind,
              .reads_pixels = made.has_bytes,
              .table = made.table,
              .offsets = made.offsets,
              .pictures = made.pictures,
              .shares = std::move(network.shares)};
  if (shared.data && shared.data->info.test > 0) {
    DETOL_ASSIGN(model.check, check_logits(model, *shared.data));
  } else {
    DETOL_ASSIGN(model.check, check_logits(model, made));
  }
  DETOL_TRY(fold_target_scale(made, model));
  round_to_levels(model.network, model.weights);  // of a quantised one, whose last layer changed
  return model;
}

Result<Model> trained_model(const OpenStudy& study, const StudyData& shared,
                            const fs::path& storage, const TrialSummary& trial) {
  DETOL_ASSIGN(TrainedNetwork network, trained_network(study, shared, storage, trial));
  return exported_model(study, shared, std::move(network));
}

}  // namespace detol::inline models

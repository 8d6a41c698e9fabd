#include "models/model_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "export/architecture_text.h"
#include "knowledge/artefacts.h"
#include "models/ensemble_members.h"
#include "studies/trial_summary.h"

namespace detol::inline models {
namespace {

namespace fs = std::filesystem;

bool is_of_model(const Metric& metric, const event::Model& model) {
  const auto found = std::ranges::find_if(
      model.metrics, [&](const auto& recorded) { return recorded.first == metric.name; });
  return found != model.metrics.end() &&
         (found->second == metric.value || (std::isnan(found->second) && std::isnan(metric.value)));
}

// Returns why the checkpoint's weights are not the tested ones; empty if they are.
std::string difference(const Checkpoint& checkpoint, const Candidate& candidate,
                       const event::Model& model) {
  if (checkpoint.arch_hash != candidate.arch_hash) return "its checkpoint is another network's";
  const EpochReport* best = best_report(checkpoint);
  const bool is_tested =
      best != nullptr && std::ranges::all_of(best->metrics, [&](const Metric& metric) {
        return is_of_model(metric, model);
      });
  return is_tested ? "" : "its checkpoint has other metrics than were recorded";
}

tl::unexpected<Error> not_here(const event::Model& model, const std::string& why) {
  return fail(ErrorCode::kExport,
              fmt::format("model {} is not here as it was tested: {}; take another one (detol "
                          "query \"SELECT * FROM v_models\")",
                          model.model, why));
}

// Returns the candidate that the model's weights belong to: the trial's, or one of a network of its
// own.
Result<Candidate> candidate_of(const StudyData& shared, const Genome& genome,
                               const event::Model& model) {
  auto candidate = shared.config.candidate(genome, shared.preprocessing.task);
  if (!candidate) return fail(ErrorCode::kExport, candidate.error().reason);
  if (model.architecture.empty()) return *std::move(candidate);
  auto network = network_from_text(model.architecture);
  if (network) return with_network(*std::move(candidate), *std::move(network));
  return fail(ErrorCode::kExport,
              fmt::format("model {} is damaged: {}", model.model, network.error().message));
}

Result<Checkpoint> tested_checkpoint(const OpenStudy& study, const fs::path& storage,
                                     const event::Model& model, const Candidate& candidate) {
  DETOL_ASSIGN(const fs::path artefacts, find_artefacts(storage, study.record.name));
  auto checkpoint = read_checkpoint(artefacts / model.folder, model.epochs);
  if (!checkpoint) return not_here(model, checkpoint.error().message);
  const std::string why = difference(*checkpoint, candidate, model);
  if (why.empty()) return checkpoint;
  return not_here(model, (artefacts / model.folder).string() + ": " + why);
}

Result<TrainedNetwork> derived_network(const OpenStudy& study, const StudyData& shared,
                                       const fs::path& storage, const event::Model& model) {
  DETOL_ASSIGN(const TrialSummary trial, trial_numbered(study, model.trial));
  DETOL_ASSIGN(Genome genome, genome_of(shared.config, trial));
  DETOL_ASSIGN(Candidate candidate, candidate_of(shared, genome, model));
  DETOL_ASSIGN(Checkpoint checkpoint, tested_checkpoint(study, storage, model, candidate));
  const double best_epoch = best_report(checkpoint)->epochs();
  return TrainedNetwork{model.trial, best_epoch, std::move(candidate), std::move(genome),
                        std::move(checkpoint)};
}

}  // namespace

Result<void> check_is_complete(const OpenStudy& study, const event::Model& model) {
  if (model.kind == ModelKind::kCrossValidated)
    return fail(ErrorCode::kEmpty,
                fmt::format("model {} is what trial {} scored by cross-validation; it has no "
                            "network of its own",
                            model.model, model.trial));
  if (model.state == ModelState::kComplete) return {};
  const std::string why = model.state == ModelState::kFailed
                              ? fmt::format("failed: {}: {}", model.failure, model.reason)
                              : "is not trained yet; run its detol retrain again";
  return fail(ErrorCode::kEmpty,
              fmt::format("model {} of study {} {}", model.model, study.record.name, why));
}

Result<StoredNetwork> stored_network(const Candidate& parent, const Network& network,
                                     const Weights& weights) {
  StoredNetwork stored{.architecture = architecture_text(network), .candidate = {}, .weights = {}};
  DETOL_ASSIGN(Network read, network_from_text(stored.architecture));
  DETOL_ASSIGN(stored.candidate, with_network(parent, std::move(read)));
  stored.weights = in_order_of(stored.candidate.network, weights);
  return stored;
}

Result<TrainedNetwork> network_of(const OpenStudy& study, const StudyData& shared,
                                  const fs::path& storage, const event::Model& model) {
  DETOL_TRY(check_is_complete(study, model));
  if (model.kind == ModelKind::kEnsembled) {
    DETOL_ASSIGN(TrainedNetwork network, ensemble_without_weights(study, shared, model));
    DETOL_ASSIGN(network.checkpoint, tested_checkpoint(study, storage, model, network.candidate));
    return network;
  }
  if (model.kind != ModelKind::kTestedTrial) return derived_network(study, shared, storage, model);
  DETOL_ASSIGN(const TrialSummary trial, trial_numbered(study, model.trial));
  DETOL_ASSIGN(TrainedNetwork network, trained_network(study, shared, storage, trial));
  if (network.best_epoch == model.epochs) return network;
  return not_here(model, fmt::format("trial {} was trained on", model.trial));
}

}  // namespace detol::inline models

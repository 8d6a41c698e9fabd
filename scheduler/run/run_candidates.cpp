#include "scheduler/run/run_candidates.h"

#include "core/hash.h"
#include "core/log.h"
#include "knowledge/artefacts.h"
#include "trainer/job_hash.h"

namespace detol::inline scheduler {

RunCandidates::RunCandidates(RunCandidatesSettings settings)
    : settings_(std::move(settings)),
      costs_(settings_.config, settings_.data, settings_.ranks),
      inherit_(make_inheritance(settings_.config, settings_.data.task, settings_.artefacts)) {}

Decoded RunCandidates::decode(const Genome& genome) {
  if (auto refused = settings_.admit(genome)) return tl::unexpected(*std::move(refused));
  return settings_.config.candidate(genome, settings_.data.task);
}

std::optional<StudyConfig::Refused> RunCandidates::refusal_of(const Candidate& candidate) {
  return costs_.refusal_of(candidate);
}

double RunCandidates::foreseen_bytes(const Candidate& candidate) {
  return costs_.foreseen_bytes(candidate);
}

double RunCandidates::epoch_work(const Candidate& candidate) {
  return detol::epoch_work(candidate, settings_.data);
}

NamedMetrics RunCandidates::cost_metrics(const Genome& genome) {
  if (!costs_.has_metrics()) return {};
  const Decoded candidate = decode(genome);
  return candidate ? costs_.metrics(*candidate) : NamedMetrics();
}

std::string RunCandidates::identity_of(const Candidate& candidate) {
  if (!settings_.config.trains()) return {};
  return to_hex(training_identity(candidate, settings_.data.fingerprint, settings_.backend,
                                  epoch_ranking_of(settings_.config)));
}

std::optional<Fact> RunCandidates::network_fact(const Candidate& candidate) {
  return networks_.describe(candidate);
}

Result<std::optional<KnownTrial>> RunCandidates::recall(const event::Asked& asked,
                                                        const Candidate& candidate) {
  if (!settings_.config.warm_start.is_auto || settings_.config.latency_batch > 0)
    return std::optional<KnownTrial>();
  const auto ranks = depends_on_ranks(candidate) ? std::optional(settings_.ranks) : std::nullopt;
  DETOL_ASSIGN(auto known, settings_.ledger.known_trial(asked.identity, settings_.study, ranks));
  if (!known) return known;
  const auto from = artefact_folder(settings_.storage, known->study) / std::to_string(known->trial);
  const auto shared = share_checkpoints(from, settings_.artefacts / std::to_string(asked.trial));
  if (!shared) log_warning("{}; this trial cannot be exported", shared.error().message);
  return known;
}

std::optional<ParentWeights> RunCandidates::inherit(const Trial& trial, const Candidate& candidate,
                                                    const StudyState& state) {
  return inherit_ ? inherit_(trial, candidate, state) : std::nullopt;
}

}  // namespace detol::inline scheduler

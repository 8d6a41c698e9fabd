#include "models/ensemble_members.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "studies/trial_summary.h"
#include "trainer/ensemble.h"

namespace detol::inline models {

using nlohmann::ordered_json;

Result<std::vector<EnsembleMember>> members_of(const event::Model& model) {
  const auto settings = json_or_discarded<ordered_json>(model.settings);
  const auto damaged = [&] {
    return fail(ErrorCode::kStorage, fmt::format("model {} is damaged", model.model));
  };
  const auto found = settings.is_object() ? settings.find("members") : settings.end();
  if (found == settings.end() || !found->is_array() || found->empty()) return damaged();
  std::vector<EnsembleMember> members;
  for (const auto& one : *found) {
    const bool is_member = one.is_object() && one.contains("trial") && one.contains("weight") &&
                           one["trial"].is_number_unsigned() && one["weight"].is_number();
    if (!is_member) return damaged();
    const auto retrained = one.find("model");
    members.push_back({one["trial"].get<TrialId>(), one["weight"].get<float>(),
                       retrained != one.end() && retrained->is_number_integer()
                           ? retrained->get<std::int64_t>()
                           : 0});
  }
  return members;
}

Result<std::string> members_text(const event::Model& model) {
  DETOL_ASSIGN(const auto members, members_of(model));
  std::string text;
  for (const EnsembleMember& one : members) {
    const std::string name =
        one.model != 0 ? fmt::format("model {}", one.model) : std::to_string(one.trial);
    text += fmt::format("{}{} x {:.3g}", text.empty() ? "" : ", ", name, one.weight);
  }
  return text;
}

Result<TrainedNetwork> joined_network(const std::vector<EnsembleMember>& members,
                                      const std::vector<const Candidate*>& candidates) {
  auto candidate = join_candidates(candidates);
  if (!candidate) return fail(ErrorCode::kExport, candidate.error().message);
  TrainedNetwork joined{.trial = members.front().trial,
                        .candidate = *std::move(candidate),
                        .genome = {},
                        .checkpoint = {}};
  for (const EnsembleMember& member : members) joined.shares.push_back(member.weight);
  return joined;
}

Result<TrainedNetwork> ensemble_without_weights(const OpenStudy& study, const StudyData& shared,
                                                const event::Model& model) {
  DETOL_ASSIGN(const auto members, members_of(model));
  std::vector<Candidate> own;
  for (const EnsembleMember& member : members) {
    DETOL_ASSIGN(const TrialSummary trial, trial_numbered(study, member.trial));
    DETOL_ASSIGN(const Genome genome, genome_of(shared.config, trial));
    auto candidate = shared.config.candidate(genome, shared.preprocessing.task);
    if (!candidate) return fail(ErrorCode::kExport, candidate.error().reason);
    own.push_back(*std::move(candidate));
  }
  std::vector<const Candidate*> candidates;
  for (const Candidate& candidate : own) candidates.push_back(&candidate);
  return joined_network(members, candidates);
}

}  // namespace detol::inline models

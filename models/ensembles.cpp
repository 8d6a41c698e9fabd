#include "models/ensembles.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/log.h"
#include "models/model_network.h"
#include "models/retraining.h"
#include "models/untrained_model.h"
#include "studies/trial_summary.h"
#include "trainer/ensemble.h"
#include "trainer/predict.h"

namespace detol::inline models {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// Trained: a network that may vote.
struct Trained {
  TrainedNetwork network;
  std::int64_t model = 0;  // as EnsembleMember has it
};

// Adds models that were retrained on these data.
Result<void> add_retrained(const OpenStudy& study, const StudyData& shared, const fs::path& storage,
                           const char* trained_on, std::vector<Trained>& library) {
  DETOL_ASSIGN(const auto models, models_of(study));
  for (const event::Model& model : models) {
    const bool may_vote = model.kind == ModelKind::kRetrained &&
                          model.state == ModelState::kComplete && model.trained_on == trained_on;
    if (!may_vote) continue;
    auto network = network_of(study, shared, storage, model);
    if (network)
      library.push_back({*std::move(network), model.model});
    else
      log_warning("it has no vote: {}", network.error().message);
  }
  return {};
}

// Returns the best trials whose weights are there, the best one first, and retrained models.
Result<std::vector<Trained>> library_of(const OpenStudy& study, const StudyData& shared,
                                        const fs::path& storage, int most) {
  DETOL_ASSIGN(const auto trials,
               trials_of(study, {.sort = "value", .only_scored = true, .only_feasible = true}));
  std::vector<Trained> library;
  for (const TrialSummary& trial : trials) {
    if (!std::cmp_less(library.size(), most)) break;
    auto network = trained_network(study, shared, storage, trial);
    if (network)
      library.push_back({*std::move(network)});
    else if (network.error().code != ErrorCode::kExport &&
             network.error().code != ErrorCode::kEmpty)
      return tl::unexpected(network.error());
  }
  DETOL_TRY(add_retrained(study, shared, storage, kOnTraining, library));
  if (!library.empty()) return library;
  return fail(ErrorCode::kEmpty,
              fmt::format("no trial of study {} has its weights any more", study.record.name));
}

// Returns all models that were retrained on the validation data, too.
Result<std::vector<Trained>> of_all_data(const OpenStudy& study, const StudyData& shared,
                                         const fs::path& storage) {
  std::vector<Trained> library;
  DETOL_TRY(add_retrained(study, shared, storage, kOnValidationToo, library));
  if (!library.empty()) return library;
  return fail(ErrorCode::kEmpty,
              fmt::format("no model of study {0} was trained on the validation data; begin with "
                          "detol retrain {0} --on train+validation --seeds 5",
                          study.record.name));
}

// Returns the shares of the networks of the library.
Result<std::vector<float>> choose(const StudyData& shared, const std::vector<Trained>& library,
                                  const EnsembleRequest& request) {
  const Dataset& data = *shared.data;
  Selection selection{.data = data,
                      .range = range_of(data.info, DataSplit::kValidation),
                      .recipe = library.front().network.candidate.recipe,
                      .size = request.size};
  for (const auto& [one, model] : library) {
    DETOL_ASSIGN(std::vector<float> outputs,
                 outputs_of(one.candidate.network, best_weights(one.checkpoint), data,
                            selection.range, request.backend));
    selection.outputs.push_back(std::move(outputs));
    request.on_progress();
  }
  return select_ensemble(selection);
}

// Returns the votes of the members on a part of the data.
Result<std::vector<float>> votes_on(const std::vector<const TrainedNetwork*>& members,
                                    std::span<const float> shares, const Dataset& data, Range range,
                                    const EnsembleRequest& request) {
  const auto width = static_cast<std::size_t>(data.info.task.classes);
  std::vector<float> all(members.size() * static_cast<std::size_t>(range.count) * width);
  for (std::size_t member = 0; member < members.size(); ++member) {
    DETOL_ASSIGN(const std::vector<float> own, outputs_of(members[member]->candidate.network,
                                                          best_weights(members[member]->checkpoint),
                                                          data, range, request.backend));
    request.on_progress();
    for (std::size_t at = 0; at < own.size(); ++at)
      all[(at / width * members.size() + member) * width + at % width] = own[at];
  }
  return vote(data.info.task.kind, shares, width, all);
}

std::string settings_of(const EnsembleRequest& request,
                        const std::vector<EnsembleMember>& members) {
  ordered_json settings = {{"size", request.size}, {"candidates", request.candidates}};
  settings["members"] = ordered_json::array();
  for (const EnsembleMember& one : members) {
    ordered_json member = {{"trial", one.trial}, {"weight", one.weight}};
    if (one.model != 0) member["model"] = one.model;
    settings["members"].push_back(std::move(member));
  }
  return compact(settings);
}

}  // namespace

bool is_of_request(const event::Model& ensemble, const EnsembleRequest& request) {
  const auto settings = json_or_discarded<ordered_json>(ensemble.settings);
  return ensemble.kind == ModelKind::kEnsembled && settings.is_object() &&
         (ensemble.trained_on == kOnValidationToo) == request.is_of_all_data &&
         settings.value("size", ordered_json()) == request.size &&
         settings.value("candidates", ordered_json()) == request.candidates;
}

Result<event::Model> make_ensemble(const OpenStudy& study, const StudyData& shared,
                                   const fs::path& storage, const EnsembleRequest& request,
                                   ModelRecord& record) {
  std::vector<Trained> library;
  std::vector<float> shares;
  if (request.is_of_all_data) {
    DETOL_ASSIGN(library, of_all_data(study, shared, storage));
    shares.assign(library.size(), 1 / static_cast<float>(library.size()));
  } else {
    if (shared.data->info.validation < 1)
      return fail(ErrorCode::kEmpty, "the data have no validation part to choose by");
    DETOL_ASSIGN(library, library_of(study, shared, storage, request.candidates));
    log_info("choosing among {} networks", library.size());
    DETOL_ASSIGN(shares, choose(shared, library, request));
  }
  std::vector<EnsembleMember> members;
  std::vector<const TrainedNetwork*> chosen;
  std::vector<const Candidate*> candidates;
  std::vector<const Weights*> weights;
  for (std::size_t i = 0; i < library.size(); ++i) {
    if (shares[i] == 0) continue;
    const TrainedNetwork& network = library[i].network;
    members.push_back({network.trial, shares[i], library[i].model});
    chosen.push_back(&network);
    candidates.push_back(&network.candidate);
    weights.push_back(&best_weights(network.checkpoint));
  }
  DETOL_ASSIGN(const TrainedNetwork joined, joined_network(members, candidates));
  const Candidate& candidate = joined.candidate;
  DETOL_ASSIGN(event::Model model,
               untrained_model(study, joined.trial, ModelKind::kEnsembled, candidate, record));
  model.trained_on = request.is_of_all_data ? kOnValidationToo : kOnTraining;
  model.began_from = kFromMembers;
  model.settings = settings_of(request, members);
  const Dataset& data = *shared.data;
  DETOL_TRY(measure_model(
      data, chosen.front()->candidate.recipe,
      [&](Range range) { return votes_on(chosen, joined.shares, data, range, request); }, model));
  DETOL_TRY(keep_model(study, storage, candidate, join(candidate.network, weights), model, record));
  return model;
}

}  // namespace detol::inline models

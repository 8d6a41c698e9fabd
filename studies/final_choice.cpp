#include "studies/final_choice.h"

#include <algorithm>
#include <cmath>

namespace detol::inline studies {
namespace {

// Returns the models of the last final choice; none if there was none.
std::vector<const event::Model*> last_choice(std::span<const event::Model> models) {
  std::int64_t last = 0;
  for (const event::Model& model : models) {
    if (model.kind == ModelKind::kCrossValidated) last = std::max(last, model.first);
  }
  std::vector<const event::Model*> chosen;
  for (const event::Model& model : models) {
    if (model.kind == ModelKind::kCrossValidated && model.first == last) chosen.push_back(&model);
  }
  return chosen;
}

}  // namespace

const event::Model* cross_validated(std::span<const event::Model> models, TrialId trial) {
  const auto last = last_choice(models);
  const auto found = std::ranges::find(last, trial, &event::Model::trial);
  return found != last.end() ? *found : nullptr;
}

std::optional<TrialId> final_choice(const OpenStudy& study, std::span<const event::Model> models,
                                    TrialId best) {
  const auto last = last_choice(models);
  if (std::ranges::find(last, best, &event::Model::trial) == last.end()) return std::nullopt;
  const Objective& objective = study.record.objectives.front();
  const auto loss = [&](const event::Model* model) {
    const double value = metric_of(*model, objective.metric).value_or(NAN);
    return std::isnan(value) ? INFINITY : to_loss(objective.direction, value);
  };
  return (*std::ranges::min_element(last, {}, loss))->trial;
}

}  // namespace detol::inline studies

#include "studies/best_trial.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/table.h"
#include "studies/final_choice.h"
#include "studies/recommended_trials.h"
#include "surrogate/pareto.h"

namespace detol::inline studies {
namespace {

// Returns a trial's objective values, negated where larger is better; empty if it lacks one.
Losses losses_of(const OpenStudy& study, const TrialSummary& trial) {
  Losses losses;
  for (const Objective& objective : study.record.objectives) {
    const double number = metric_of(trial, objective.metric);
    if (std::isnan(number)) return {};
    losses.push_back(to_loss(objective.direction, number));
  }
  return losses;
}

}  // namespace

Result<TrialSummary> best_by_value(const OpenStudy& study) {
  DETOL_ASSIGN(
      auto best,
      trials_of(study, {.sort = "value", .top = 1, .only_scored = true, .only_feasible = true}));
  if (!best.empty()) return std::move(best.front());
  return no_best_trial(study);
}

Result<TrialSummary> best_observed(const OpenStudy& study) {
  DETOL_ASSIGN(TrialSummary best, best_by_value(study));
  DETOL_ASSIGN(const auto models, models_of(study));
  const TrialId chosen = final_choice(study, models, best.id).value_or(best.id);
  if (chosen == best.id) return best;
  return trial_numbered(study, chosen);
}

Result<std::optional<ChosenTrial>> chosen_trial(const OpenStudy& study) {
  DETOL_ASSIGN(const bool is_by_posterior, is_best_by_posterior(study));
  if (is_by_posterior) {
    DETOL_ASSIGN(const auto ranked, recommended_trials(study));
    if (ranked) return ChosenTrial{ranked->front().trial.id, "posterior"};
  }
  const auto best = best_by_value(study);
  if (!best && best.error().code == ErrorCode::kEmpty) return std::nullopt;
  if (!best) return tl::unexpected(best.error());
  DETOL_ASSIGN(const auto models, models_of(study));
  const auto chosen = final_choice(study, models, best->id);
  return chosen ? std::optional(ChosenTrial{*chosen, "cross-validation"}) : std::nullopt;
}

Result<TrialSummary> trial_called(const OpenStudy& study, const std::string& id_or_best) {
  if (id_or_best == "best") {
    DETOL_ASSIGN(const auto chosen, chosen_trial(study));
    return chosen ? trial_numbered(study, chosen->trial) : best_by_value(study);
  }
  TrialId id = 0;
  const auto [end, error] =
      std::from_chars(id_or_best.data(), id_or_best.data() + id_or_best.size(), id);
  if (error != std::errc() || end != id_or_best.data() + id_or_best.size())
    return fail(ErrorCode::kUsage,
                fmt::format("trial is {}; it must be its number or 'best'", in_quotes(id_or_best)));
  return trial_numbered(study, id);
}

Result<std::vector<TrialSummary>> pareto_trials(const OpenStudy& study) {
  if (study.record.objectives.size() == 1) return trials_called(study, "best");
  DETOL_ASSIGN(auto trials, trials_of(study, {.only_scored = true, .only_feasible = true}));
  std::erase_if(trials, [&](const TrialSummary& one) { return losses_of(study, one).empty(); });
  std::vector<Losses> points;
  for (const TrialSummary& one : trials) points.push_back(losses_of(study, one));
  std::vector<TrialSummary> front;
  for (const std::size_t place : nondominated(points)) front.push_back(std::move(trials[place]));
  if (!front.empty()) return front;
  return no_best_trial(study);
}

Result<std::vector<TrialSummary>> trials_called(const OpenStudy& study, const std::string& which) {
  if (which == "pareto") return pareto_trials(study);
  DETOL_ASSIGN(TrialSummary trial, trial_called(study, which));
  return std::vector<TrialSummary>{std::move(trial)};
}

}  // namespace detol::inline studies

#pragma once

// Which trial of a study is the best, and by what: the one answer that everything shows.

#include <optional>
#include <string>
#include <vector>

#include "studies/trial_summary.h"

namespace detol::inline studies {

// ChosenTrial: the best trial of a study, where it is decided by more than the trials' values.
struct ChosenTrial {
  TrialId trial = 0;
  std::string by;  // "cross-validation": the final choice; "posterior": a model of all values
};

// Returns which trial is the best by more than its value; nullopt where the value decides. All that
// show a best trial beside the best value show this. Errors: kStorage.
Result<std::optional<ChosenTrial>> chosen_trial(const OpenStudy& study);

// Returns the trial with the best value. Errors (kEmpty): there is none.
Result<TrialSummary> best_by_value(const OpenStudy& study);

// Returns the trial of the final choice (final_choice.h), else that with the best value. Errors
// (kEmpty): there is none.
Result<TrialSummary> best_observed(const OpenStudy& study);

// Returns the trial of that id, or the best for "best": chosen_trial(), else best_by_value().
// Errors: kUsage if it is neither, kEmpty if there is no such trial.
Result<TrialSummary> trial_called(const OpenStudy& study, const std::string& id_or_best);

// Returns the trials that no other beats in every objective, in the order of their ids: of trials
// with equal values only the first, and none that lacks a number for an objective. The checkpoints
// of these are kept. With one objective, returns the best trial. Errors: kEmpty if nothing was
// scored yet; kStorage.
Result<std::vector<TrialSummary>> pareto_trials(const OpenStudy& study);

// Returns the trials that a word names: best, pareto or the number of one. Errors: as both above.
Result<std::vector<TrialSummary>> trials_called(const OpenStudy& study, const std::string& which);

}  // namespace detol::inline studies

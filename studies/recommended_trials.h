#pragma once

// Trials ranked by what a model expects of them instead of by what was measured
// (search/recommendation.h).

#include <optional>
#include <vector>

#include "studies/trial_summary.h"

namespace detol::inline studies {

// RecommendedTrial: mean and deviation are in the objective's units; the latter is what the model
// leaves open.
struct RecommendedTrial {
  TrialSummary trial;
  double mean = 0, deviation = 0;
};

// Returns true if a study's best is that of the model: where it measures candidates again
// (search.repeats) the mean of several measurements counts, not the luckiest of them. A final
// choice, which has more measurements, or a second objective, which the model cannot rank by, makes
// it false. Errors: kStorage.
Result<bool> is_best_by_posterior(const OpenStudy& study);

// Returns the trials of a study's full length that keep to its constraints, the best first, at
// least one. Returns nothing if fewer than kLeastTrialsToRecommend were measured. Errors: kUsage if
// the study has several objectives, with what to do; kEmpty if no trial can be the best; kStorage.
Result<std::optional<std::vector<RecommendedTrial>>> recommended_trials(const OpenStudy& study);

}  // namespace detol::inline studies

#pragma once

// Which trial of a study is the best while the study goes on, for those who ask for its trials.
// studies/best_trial.h says the same of the knowledge base, which also has final choices; studies
// whose callers evaluate the trials have none.

#include "encodings/study/study_config.h"
#include "scheduler/study_state.h"

namespace detol::inline scheduler {

// Returns whether the best trial is that of a model of all values (search/recommendation.h): where
// a study of one objective measures candidates again (search.repeats), the mean of several
// measurements counts, not the luckiest of them.
bool is_ranked_by_model(const StudyConfig& config);

// Returns the best trial: by that model where it ranks and enough trials are COMPLETE, else
// StudyState::best(); nullptr if there is none. With the model as recommend(): O(n^3).
const TrialRecord* best_trial(const StudyState& state, const StudyConfig& config);

}  // namespace detol::inline scheduler

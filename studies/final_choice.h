#pragma once

// The final choice of a study, as it is recorded: the scores over folds of its best trials, and
// which of them is the best by these (models/choose_finally.h makes it).

#include <optional>
#include <span>

#include "studies/model_rows.h"

namespace detol::inline studies {

// Returns the model with the scores of a trial in the last final choice; nullptr if it was not
// among those trials.
const event::Model* cross_validated(std::span<const event::Model> models, TrialId trial);

// Returns the trial that the last final choice chose; nullopt if there was none, or if `best`, the
// best trial by its value, is newer than the choice.
std::optional<TrialId> final_choice(const OpenStudy& study, std::span<const event::Model> models,
                                    TrialId best);

}  // namespace detol::inline studies

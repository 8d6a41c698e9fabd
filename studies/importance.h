#pragma once

// How much each choice of a study matters, for `importance` and `report`.

#include <string>
#include <vector>

#include "studies/trial_summary.h"
#include "surrogate/importance.h"

namespace detol::inline studies {

// Returns the choices by their importance for a metric (empty: the first objective), which the
// finished trials show, with `among` those of these. Errors: kUsage if no trial has that metric;
// kEmpty if too few trials have finished, with what to do.
Result<std::vector<ChoiceImportance>> measure_importance(
    const OpenStudy& study, const StudyConfig& config, const std::string& metric,
    std::optional<std::vector<TrialId>> among = {});

}  // namespace detol::inline studies

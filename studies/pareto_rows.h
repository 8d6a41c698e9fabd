#pragma once

// The Pareto set of a study as rows: the trials that no other trial beats in every objective.

#include "studies/trial_rows.h"

namespace detol::inline studies {

// Returns the rows in the order of their ids; of trials with equal values only the first, and no
// trial that lacks a number for an objective. The checkpoints of these trials are kept. Columns as
// trial_rows. With one objective, returns the best trial. Errors (kEmpty): nothing scored yet;
// (kStorage): a damaged row.
Result<Rows> pareto_rows(const OpenStudy& study);

// Returns the trials that a word names: best, pareto or the number of one. Errors: as pareto_rows
// and one_trial.
Result<Rows> trials_called(const OpenStudy& study, const std::string& which);

}  // namespace detol::inline studies

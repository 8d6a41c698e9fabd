#pragma once

// A trial looked at closely, as rows.

#include "studies/trial_summary.h"

namespace detol::inline studies {

// Returns a row for each layer of its network, in the order of computation: with how it began where
// the trial inherited weights. Errors (kEmpty): it has no network; as inspect_dataset.
Result<Rows> network_rows(const OpenStudy& study, const TrialSummary& trial);

// Returns a row for each epoch, with a column for each metric. Errors (kEmpty): there is none yet.
Result<Rows> curve_rows(const OpenStudy& study, TrialId trial);

// Returns a row for each event of the trial.
Result<Rows> history_rows(const OpenStudy& study, TrialId trial);

// Returns one row: who proposed the trial, and what the model predicted of it then. Errors: as
// why_proposed.
Result<Rows> reason_row(const OpenStudy& study, const TrialSummary& trial);

}  // namespace detol::inline studies

#pragma once

// The Pareto set of a study as rows: what no other trial beats in every objective.

#include "cli/trial_rows.h"

namespace detol::inline cli {

// Returns the rows in the order of their ids, of equal trials the first; none without a number for
// every objective: those whose checkpoints are kept. Columns as trial_rows. Of a study with one
// objective: the best. Errors (kEmpty): nothing scored yet; (kStorage): a damaged row.
Result<Rows> pareto_rows(const OpenStudy& study);

}  // namespace detol::inline cli

#pragma once

// How far studies are, as rows: what `status` and `studies` show.

#include <string>

#include "studies/open_study.h"

namespace detol::inline studies {

// Returns the study's row: where it stands, who runs it, what of its budget is used, its trials
// counted by state, and how its groups of workers do. Errors (kStorage).
Result<Rows> status_of(const OpenStudy& study, const std::string& storage);

// Returns a row for each study of the base, the oldest first: columns study, state, run_by, ...
// Errors: kStorage; kEmpty: there is none.
Result<Rows> study_rows(Reader& reader, const std::string& storage);

}  // namespace detol::inline studies

#pragma once

// Trials as a table for people.

#include <string>
#include <vector>

#include "knowledge/query.h"

namespace detol::inline printing {

// Returns those of the columns that are there and not empty or 0 in every row, with a column for
// each metric and parameter. The choices of an architecture come last: on a terminal the last
// columns are the ones that are left out.
Rows trial_table_of(const Rows& trials, const std::vector<std::string>& columns);

// Returns the rows without the columns that are empty or 0 in all of them; `trial` stays.
Rows without_empty_columns(const Rows& rows);

}  // namespace detol::inline printing

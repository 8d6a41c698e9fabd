#pragma once

// Columns that lists of trials get beside those of their query.

#include <string_view>
#include <vector>

#include "printing/style.h"
#include "studies/labels.h"
#include "studies/trial_summary.h"

namespace detol::inline studies {

// Inserts a column behind another, with a cell for each row.
void insert_column(std::string_view name, std::string_view behind, std::vector<Cell> cells,
                   Rows& rows);

// Returns the rows of these trials, in their order. Columns: as trial_rows.
Result<Rows> rows_of(const OpenStudy& study, const std::vector<TrialSummary>& trials);

// Inserts the column `architecture` after `params`.
Result<void> add_architecture(const OpenStudy& study, Rows& trials);

// Inserts the columns `test` and `test_interval` after `values` if a trial's test metrics are
// known.
Result<void> add_test_scores(const OpenStudy& study, Rows& trials);

// Inserts the column `cross_validation` after `values`: JSON of the mean metrics over the folds, of
// trials that have them; no column if none has.
Result<void> add_cross_validation(const OpenStudy& study, Rows& trials);

// Appends the columns `tags` and `note`, a cell of each to every row, by the row's labels; in a
// table of several rows only those that are not empty.
void add_label_columns(const std::vector<Labels>& labels, Format format, Rows& rows);

// Does so with the rows of trials. Errors (kStorage).
Result<void> add_labels(const OpenStudy& study, Format format, Rows& trials);

}  // namespace detol::inline studies

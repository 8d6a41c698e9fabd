#pragma once

#include <vector>

#include "printing/style.h"
#include "studies/labels.h"

namespace detol::inline cli {

// Appends the columns `tags` and `note`, a cell of each to every row, by the row's labels; in a
// table of several rows only those that are not empty.
void add_label_columns(const std::vector<Labels>& labels, Format format, Rows& rows);

// Does so with the rows of trials. Errors (kStorage).
Result<void> add_labels(const OpenStudy& study, Format format, Rows& trials);

}  // namespace detol::inline cli

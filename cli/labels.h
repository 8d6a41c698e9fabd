#pragma once

// Tags and notes on the command line: what is written, and the columns `tags` and `note`.

#include <string>

#include "cli/commands.h"
#include "cli/trial_rows.h"
#include "knowledge/labels.h"

namespace detol::inline cli {

// Records a change. Needs no lock of the study. Errors: kUsage for a tag with a space, a comma or a
// control character, or a text that is not UTF-8; kStorage.
Result<void> change_labels(const std::string& storage, const StudyRecord& study,
                           const LabelChange& change);

// Returns the labels of a study and of its trials. Errors (kStorage).
Result<std::map<LabelTarget, Labels>> read_labels(Reader& reader, const StudyRecord& study);

// Appends the columns `tags` and `note`, a cell of each to every row, by the row's labels; in a
// table of several rows only those that are not empty.
void add_label_columns(const std::vector<Labels>& labels, Format format, Rows& rows);

// Does so with the rows of trials. Errors (kStorage).
Result<void> add_labels(const OpenStudy& study, Format format, Rows& trials);

}  // namespace detol::inline cli

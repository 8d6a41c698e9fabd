#pragma once

// Tags and notes of a study and its trials, as people write them.

#include <map>
#include <string>
#include <vector>

#include "knowledge/labels.h"
#include "studies/trial_rows.h"

namespace detol::inline studies {

// Records a change. Needs no lock of the study. Errors: kUsage for a tag with a space, a comma or a
// control character, or a text that is not UTF-8; kStorage.
Result<void> change_labels(const std::string& storage, const StudyRecord& study,
                           const LabelChange& change);

// Returns the labels of a study and of its trials. Errors (kStorage).
Result<std::map<LabelTarget, Labels>> read_labels(Reader& reader, const StudyRecord& study);

// Returns the labels of the trials in these rows, in their order. Errors (kStorage).
Result<std::vector<Labels>> labels_of(const OpenStudy& study, const Rows& trials);

}  // namespace detol::inline studies

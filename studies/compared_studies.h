#pragma once

// Studies beside each other. The statement is about the trials of these runs: a probability with an
// interval, each study against the first. Whether an algorithm is better than another, one run of
// each cannot say.

#include <string>
#include <vector>

#include "studies/open_study.h"

namespace detol::inline studies {

struct ComparedStudies {
  Rows rows;                        // of each study, in the order of the names
  std::vector<std::size_t> counts;  // of trials, that best_25 to best_100 are of
};

// Warns of studies with different data. Errors: kUsage: they are not two or more different ones, or
// have different objectives; kEmpty: one has no finished trial; as open_study.
Result<ComparedStudies> compare_studies(const std::string& storage,
                                        const std::vector<std::string>& names);

}  // namespace detol::inline studies

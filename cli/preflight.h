#pragma once

// Preflight: everything about a study that can be wrong, found before anything is created.

#include <string>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "scheduler/budget.h"
#include "trainer/data/dataset.h"

namespace detol::inline cli {

struct Preflight {
  Budget budget;
  DatasetInfo data;
};

// Errors (kUsage): a budget in work for a study that does none.
Result<void> check_units(const Budget& budget, const StudyConfig& config);

// Returns what the file asks for and will not get; each starts with its place there.
std::vector<std::string> warnings_about(const StudyConfig& config);

// Logs these warnings, makes the searcher and the pruner once, reads the budget and the initial
// trials, and reads the whole data set. Errors start with the place in the space file.
Result<Preflight> check_study(const StudyConfig& config);

}  // namespace detol::inline cli

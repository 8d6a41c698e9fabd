#pragma once

// Preflight: the checks of a study before anything is created.

#include <string>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "knowledge/query.h"
#include "scheduler/budget.h"
#include "trainer/data/dataset.h"

namespace detol::inline scheduler {

struct Preflight {
  Budget budget;
  DatasetInfo data;
};

// Checks the budget's units. Errors (kUsage): a budget in work for a study that does none.
Result<void> check_units(const Budget& budget, const StudyConfig& config);

// Reads the budget of the space file. Errors (kUsage) with its place there.
Result<Budget> check_budget(const StudyConfig& config);

// Returns the number of candidates of a space, or that there is no such number: "continuous".
Cell size_of_space(const Space& space);

// Says once, on stderr, what was guessed of the data, left out or passed over: a line for each, the
// first of which names the data.
// Every command that begins to work with new data calls it before anything is drawn there.
void say_remarks(const DataConfig& config, const DatasetInfo& data);

// Says the same again of a study's data, as its knowledge base has it: for runs that do not look at
// them first.
void say_known_remarks(Reader& reader, const StudyRecord& record, const DataConfig& config);

// Makes the searcher and the pruner once, reads the budget and the initial trials, reads the whole
// data set and says what was found in it. Errors start with the place in the space file.
Result<Preflight> check_study(const StudyConfig& config);

}  // namespace detol::inline scheduler

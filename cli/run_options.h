#pragma once

// The options that `search`, `explore` and `resume` share: where and how a study runs.

#include <vector>

#include "command_line/command.h"
#include "scheduler/run/study_run.h"

namespace detol::inline cli {

// Returns `own` followed by the shared options.
std::vector<Option> with_run_options(std::vector<Option> own);

// Reads the shared options. Errors (kUsage): a number that is malformed or out of range, or a
// malformed target.
Result<RunOptions> run_options_from(const Arguments& arguments);

// Reads --workers: 0 is the study's number; also kAutoWorkers and kNoWorkers. Errors (kUsage).
Result<int> workers_from(const Arguments& arguments);

// Reads --group-size: 0 is auto. Errors (kUsage).
Result<int> ranks_from(const Arguments& arguments);

// Checks the target. Errors (kUsage): its metric is one that the study's trials do not report.
Result<void> check_target(const RunOptions& options);

}  // namespace detol::inline cli

#pragma once

// The options that `search` and `resume` share: where and how a study runs.

#include <vector>

#include "cli/commands.h"
#include "scheduler/run/study_run.h"

namespace detol::inline cli {

// `own` followed by the shared ones.
std::vector<Option> with_run_options(std::vector<Option> own);

// Errors (kUsage): what this build or version cannot do, and what it can.
Result<RunOptions> run_options_from(const Arguments& arguments);

// Errors (kUsage): the target is a metric that the study's trials do not report.
Result<void> check_target(const RunOptions& options);

}  // namespace detol::inline cli

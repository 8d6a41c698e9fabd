#pragma once

// Master: the process that opens the ledger and runs the driver. Its start-up is always a
// resume: a new study is one without events.

#include <filesystem>

#include "core/result.h"
#include "scheduler/study_run.h"

namespace detol {

// `folder` is the run's, `supervisor` the socket to it. Errors: see run_search's exit codes;
// nothing has been created if the study could not begin.
Result<void> run_master(const RunOptions& options, const std::filesystem::path& folder,
                        int supervisor, const Seams& seams);

}  // namespace detol

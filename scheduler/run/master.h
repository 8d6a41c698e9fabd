#pragma once

// Master: the process that opens the ledger and runs the driver. Its start-up is always a
// resume: a new study is one without events.

#include <sys/types.h>

#include <filesystem>

#include "core/result.h"
#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

struct SupervisorConnection {
  int socket = -1;  // for supervisor_protocol.h
  pid_t pid = 0;    // of the supervisor, the process in the foreground of a terminal
};

// Runs the master of the run that has this folder. Errors: see run_search's exit codes; nothing has
// been created if the study could not begin.
Result<void> run_master(const RunOptions& options, const std::filesystem::path& folder,
                        const SupervisorConnection& supervisor, const TestHooks& hooks);

}  // namespace detol::inline scheduler

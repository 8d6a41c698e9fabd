#pragma once

// One search as processes of this machine. run_search() turns the calling process into the
// supervisor: single-threaded, no ZeroMQ, no SQLite. It starts the master (ledger, searcher,
// driver) and every worker (a trainer each, or an MPI job of several that train together), all of
// them this same program executed again with a hidden first argument:
//
//   detol __master <folder> <socket> <supervisor>
//   detol __worker <folder> <number> <start> <ranks>
//
// `folder` is private to the run (0700, removed at its end) and holds run.json, the resolved run
// (resolved.json), the socket (master.sock) and, under a live view, what the processes write to
// stderr. A program that calls run_search must therefore pass its arguments to run_role before it
// reads them itself.

#include <functional>
#include <optional>
#include <string>

#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

// Called with the study's name once a search ended as it should, in the process that supervised it
// and when no other of the run is left.
using AfterSearch = std::function<void(const std::string& study)>;

// Runs or resumes a study to its end and returns the program's exit code; errors have been printed.
// SIGTERM, SIGINT, SIGUSR1 and (unless ignored) SIGHUP stop it (75, resumable); a second one ends
// it at once (130). In an MPI job of several processes each of them calls this. No process of the
// run is left when it returns. REQUIRES: the process has one thread.
int run_search(const RunOptions& options, const TestHooks& hooks = {},
               const AfterSearch& after = {});

// Runs the master or a worker if the arguments say so, and returns its exit code; nullopt: they are
// an ordinary command line.
std::optional<int> run_role(int argc, char** argv, const TestHooks& hooks = {});

}  // namespace detol::inline scheduler

#pragma once

// Supervisor: the parent of every process of a run. It starts and buries, and knows nothing
// of studies: single-threaded, no ZeroMQ, no SQLite, so that there is little in it to fail.
//
// A master that is silent for two minutes (ten when it starts) is killed, and one that died is
// started again (after 0.2 s, 0.4 s, ...) while its workers train on; three restarts without a
// report made durable in between end the run. Every child is in a process group of its own, dies
// with the supervisor (PR_SET_PDEATHSIG), and is deaf to the signals that a terminal or a batch
// system sends around: only the supervisor hears them.
//
// A worker of several ranks is the child that launches them, an MPI job of its own. Whoever
// loses its parent in there becomes a child of the supervisor (PR_SET_CHILD_SUBREAPER), which
// ends it: a group dies as one.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/log.h"
#include "scheduler/launchers/gpus.h"

namespace detol {

// How the ranks of a worker are started.
struct GroupLaunch {
  int ranks = 1;
  std::vector<std::string> launcher;     // what comes before the program; empty: the program itself
  std::vector<std::string> environment;  // NAME=value, for the launcher
  Service service = {};                  // beside the workers; no words: none
};

// Runs `<this program> __master <folder> <socket>` and the workers it orders
// (`__worker <folder> <number> <start> <ranks>`) to their end; returns the exit code of the run
// (see run_search). No descendant is left when it returns. Only the master gets the stderr that
// `aside` put aside; errors that end the run are printed there.
// REQUIRES: the process has one thread, and no children.
int supervise(const std::filesystem::path& folder, const GroupLaunch& launch,
              std::optional<StderrAside> aside);

}  // namespace detol

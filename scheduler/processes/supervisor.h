#pragma once

// Supervisor: starts every process of a run, and observes how each of them ends. It has no code for
// studies, one thread, no ZeroMQ and no SQLite, so that there is little in it to fail.
//
// A master that is silent for two minutes (ten when it starts) is killed, and one that died is
// started again (after 0.2 s, 0.4 s, ...) while its workers continue; after three restarts without
// a durable report in between, the next death ends the run. Every child is a process tree of its
// own (process_tree.h), which ends with the supervisor and ignores the signals that a terminal or a
// batch system sends: only the supervisor handles them.
//
// A worker of several ranks is the launcher of an MPI job of its own. If the launcher dies, its
// tree, and so the whole group, ends. Children that the calling process had before, or that it
// adopts as the first process of its container, are waited for and never ended.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/log.h"
#include "scheduler/processes/group_launch.h"

namespace detol::inline scheduler {

// Runs `<this program> __master <folder> <socket> <own pid>` and the workers that it commands
// (`__worker <folder> <number> <start> <ranks>`) to their end; returns the exit code of the run
// (see run_search). None of them, and nothing that they started, is left when it returns. Only the
// master writes to the stderr that `redirect` hides from all others; errors that end the run are
// printed there. REQUIRES: the process has one thread, and waits for no child of its own meanwhile.
int supervise(const std::filesystem::path& folder, const GroupLaunch& launch,
              std::optional<StderrRedirect> redirect);

}  // namespace detol::inline scheduler

#pragma once

// keep_workers: the parent of the workers with which this machine joins a run of another process.
// Like the supervisor it has one thread, no ZeroMQ and no SQLite; unlike it, it has no master.
//
//   detol worker ──┬── reaper ── worker 0 (__join)
//                  └── reaper ── mpiexec ─┬─ worker 1, rank 0
//                                         └─ worker 1, rank 1
//
// A worker that crashed is started again (after 0.2 s, 0.4 s, ...), three times in a row without
// living for ten seconds; one that ended with 0 or 75 has no more to do here.

#include <string>

#include "scheduler/processes/group_launch.h"

namespace detol::inline scheduler {

struct KeptWorkers {
  std::string folder;  // private to this call
  int workers = 1;
  GroupLaunch launch;
  bool are_replaced = true;  // else the first end of a worker is final
};

// Runs `<this program> __join <folder> <worker> <start> <ranks> <previous status>` for each worker
// and returns when all have ended: 0, or the exit code of a worker if none ended with 0. SIGTERM,
// SIGINT, SIGUSR1 and (unless ignored) SIGHUP make the workers hand back their trials and leave:
// 75; a second one kills them: 130. Nothing that was started is left. REQUIRES: the process has one
// thread.
int keep_workers(const KeptWorkers& kept);

}  // namespace detol::inline scheduler

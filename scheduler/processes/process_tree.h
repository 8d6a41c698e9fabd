#pragma once

// Process trees: a child of this process with everything that it starts, even processes that fork
// twice, open a session of their own or become orphans.
//
//   this process ── reaper ── first process ── ...
//                      └───── orphans of the tree
//
// The reaper is a fork of this process and does nothing but wait. As a subreaper
// (PR_SET_CHILD_SUBREAPER) it becomes the parent of every orphan of its tree and of no other
// process, so that it kills only our descendants. When the first process ends, or this process
// calls end_tree() or dies (PR_SET_PDEATHSIG), the reaper kills the whole tree, then ends as the
// first process did. If the reaper is killed, so is the first process (PR_SET_PDEATHSIG). This
// process is no subreaper: its other children are left alone.

#include <sys/types.h>

#include <functional>

namespace detol::inline scheduler {

// Starts a tree whose first process runs `play`, which execs and does not return. Returns the pid
// of its reaper, whose status (waitpid) is that of the first process; -1 with errno if it cannot
// start. REQUIRES: this process has one thread.
pid_t start_tree(const std::function<void()>& play);

// Sends SIGUSR1 to the first process of the tree.
void notify_tree(pid_t reaper);

// Makes the reaper end its tree; waitpid() on the reaper returns when nothing of it is left.
void end_tree(pid_t reaper);

}  // namespace detol::inline scheduler

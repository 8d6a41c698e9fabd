#pragma once

// Suspension: what Ctrl-Z does to a program whose children are in process groups of their own,
// which the terminal's signal (SIGTSTP) does not reach.

#include <sys/types.h>

#include <span>
#include <vector>

namespace detol::inline core {

// Returns the children of a process; empty if it is not there.
std::vector<pid_t> children_of(pid_t process);

// Stops these processes with all that they have started, then `last` likewise, then this process
// until it is continued (SIGCONT, `fg`), and continues them. `last` has a moment to end what it is
// doing once the others stand still; -1: there is none. Meanwhile system_clock() stands still, here
// and for all that share it: no limit of time comes nearer. Where no shell could
// continue this process (its group is orphaned), nobody is stopped for longer than that moment.
// REQUIRES: SIGTSTP is blocked and has its default action, and this process has one thread.
void suspend_with(std::span<const pid_t> processes, pid_t last = -1);

}  // namespace detol::inline core

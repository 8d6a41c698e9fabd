#pragma once

// Suspension: what Ctrl-Z does to a program whose children are in process groups of their own,
// which the terminal's signal (SIGTSTP) does not reach.

#include <sys/types.h>

#include <filesystem>
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

// Makes now_s() of system_clock() leave out what was left out in any process that has called this
// with the same file, which is made if it is not there. Returns whether that worked. REQUIRES: this
// process has one thread.
bool share_clock(const std::filesystem::path& file);

// Makes now_s() leave out these seconds, for which all that share the clock stood still.
void leave_out(double seconds);

}  // namespace detol::inline core

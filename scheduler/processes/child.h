#pragma once

// Children of a supervisor: every process of a run is this program, executed again in a process
// tree of its own (process_tree.h), maybe by a launcher.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/processes/group_launch.h"

namespace detol::inline scheduler {

// Inherited holds the descriptors that only the master inherits; -1: none.
struct Inherited {
  int socket = -1;
  int terminal = -1;  // becomes its stderr, if that of all others goes to a file
};

// Returns the words that make this program play a role of a run.
std::vector<std::string> role_words(const GroupLaunch& launch, std::string_view role,
                                    const std::string& folder, const std::vector<int>& numbers);

// Starts the launcher with these words, or without a launcher this program. The child ignores the
// signals that a terminal or a batch system sends, writes to stderr alone, and sees the launch's
// environment. Returns the pid of the reaper of its tree; -1, after an error was printed, if it
// cannot start. REQUIRES: this process has one thread.
pid_t spawn(const std::vector<std::string>& words, const GroupLaunch& launch,
            Inherited inherited = {});

}  // namespace detol::inline scheduler

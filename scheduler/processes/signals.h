#pragma once

// The signals that end a run, which only the supervisor handles, and those that make a worker that
// joined leave it.

#include <csignal>

namespace detol::inline scheduler {

// Returns the signals by which a parent of processes learns what happened, for signalfd(2): an
// ended child, a request to stop, and, unless they are ignored (under nohup, without job control),
// a hangup and a terminal's Ctrl-Z.
sigset_t awaited_signals();

// Makes this process ignore the signals that a terminal, a batch system or a launcher sends to all
// processes, and SIGPIPE, and SIGXFSZ: a write beyond the limit on file sizes fails instead
// (EFBIG).
void ignore_signals();

// Makes SIGUSR1, SIGTERM and SIGINT requests that this worker leave its run.
void leave_on_signal();

// Returns whether it was requested. From any thread.
bool is_leave_requested();

}  // namespace detol::inline scheduler

#pragma once

// The signals that end a run. Only the supervisor handles them.

namespace detol::inline scheduler {

// Makes this process ignore the signals that a terminal, a batch system or a launcher sends to all
// processes, and SIGPIPE, and SIGXFSZ: a write beyond the limit on file sizes fails instead
// (EFBIG).
void ignore_signals();

}  // namespace detol::inline scheduler

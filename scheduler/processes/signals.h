#pragma once

// The signals that end a run. Only the supervisor takes them.

namespace detol::inline scheduler {

// Makes this process deaf to what a terminal, a batch system or a launcher sends to everybody, to
// closed pipes, and to a limit on the size of files: the write fails instead (EFBIG).
void ignore_signals();

}  // namespace detol::inline scheduler

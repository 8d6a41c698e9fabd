#pragma once

// Which signals end a run, and who hears them: the supervisor alone.

namespace detol {

// Makes this process deaf to what a terminal, a batch system or a launcher sends to everybody, to
// closed pipes, and to a limit on the size of files: the write fails instead (EFBIG).
void ignore_signals();

}  // namespace detol

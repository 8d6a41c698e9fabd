#pragma once

// LiveView: draws frames of a running study on a terminal. Nothing else writes to the terminal: the
// stderr of this process and of others goes to a file in the run's folder, and the frame shows its
// last lines, each once with a count. A restarted master draws over the frame of the master before.
// A frame is drawn at most four times a second when something happened, else once a second.

#include <sys/types.h>

#include <filesystem>

#include "scheduler/monitor/progress.h"

namespace detol::inline scheduler {

struct LiveViewSettings {
  std::filesystem::path stderr_file;  // shared by the run's processes
  std::filesystem::path state_file;   // for a restarted master (see Painter)
  bool color = false;
  pid_t owner = 0;  // the process in the foreground of the terminal (see Painter)
};

std::unique_ptr<Progress> make_live_view(const StudyMonitor::Study& study,
                                         LiveViewSettings settings, Clock& clock);

}  // namespace detol::inline scheduler

#pragma once

// LiveView: draws frames of a running study on a terminal. It has the terminal for itself: what
// this process and others write to stderr goes to a file in the run's folder, from which the frame
// shows the last lines, each once with a count. A master that takes over draws over its
// predecessor's frame. Drawn at most four times a second, when something happened, else once a
// second.

#include <sys/types.h>

#include <filesystem>

#include "scheduler/monitor/progress.h"

namespace detol::inline scheduler {

struct LiveViewSettings {
  std::filesystem::path aside;       // the file for stderr, shared by the run's processes
  std::filesystem::path state_file;  // for a successor (see Painter)
  bool color = false;
  pid_t owner = 0;  // the process in the foreground of the terminal (see Painter)
};

std::unique_ptr<Progress> make_live_view(const StudyMonitor::Study& study,
                                         LiveViewSettings settings, Clock& clock);

}  // namespace detol::inline scheduler

#pragma once

// The live picture of a running study. It has the terminal for itself: what this process and
// others write to stderr goes to a file in the run's folder, from which the picture shows the
// last lines, each once with a count. A master that takes over draws over its predecessor's
// picture. Drawn at most four times a second, when something happened, else once a second.

#include <sys/types.h>

#include <filesystem>

#include "scheduler/monitor/progress.h"

namespace detol {

struct LiveViewSettings {
  std::filesystem::path aside;   // the file for stderr, shared by the run's processes
  std::filesystem::path memory;  // for a successor (see Painter)
  bool color = false;
  pid_t person = 0;  // see Painter
};

std::unique_ptr<Progress> make_live_view(const Onlooker::Study& study, LiveViewSettings settings,
                                         Clock& clock);

}  // namespace detol

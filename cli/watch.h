#pragma once

// Watch: shows the live view of a study that another process runs, from the knowledge base
// alone.

#include <filesystem>
#include <string>

#include "command_line/command.h"
#include "knowledge/query.h"

namespace detol::inline cli {

// Draws on stdout every second until the study ends or Ctrl-C, and returns 0. Draws a study that no
// process runs once. If stdout is no terminal, prints only the last frame. Reads only new events.
Result<int> watch_study(const StudyRecord& record, const Arguments& arguments);

}  // namespace detol::inline cli

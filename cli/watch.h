#pragma once

// Watching a study that another process runs: the search's own live view, drawn from the
// knowledge base alone.

#include <optional>
#include <string>

#include "cli/commands.h"
#include "knowledge/query.h"
#include "knowledge/writer.h"

namespace detol::inline cli {

// Seconds within which a supervisor starts another master.
inline constexpr double kRestartS = 5;

// Draws on stdout every second until the study ends or Ctrl-C (0); a study that nobody runs
// once. Where stdout is no terminal only the last frame is printed. Reads what is new.
Result<int> watch_study(const StudyRecord& record, const Arguments& arguments);

// True if that process runs the study, as far as it has said what it runs.
bool is_run_by(const std::optional<Writer>& writer, const std::string& study);

}  // namespace detol::inline cli

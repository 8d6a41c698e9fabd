#pragma once

// Watch: shows the live view of a study that another process runs, from the knowledge base
// alone.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "knowledge/query.h"
#include "knowledge/storage/writer.h"

namespace detol::inline cli {

// Seconds within which a supervisor starts another master.
inline constexpr double kRestartS = 5;

// Draws on stdout every second until the study ends or Ctrl-C, and returns 0. Draws a study that no
// process runs once. If stdout is no terminal, prints only the last frame. Reads only new events.
Result<int> watch_study(const StudyRecord& record, const Arguments& arguments);

// Returns the process that has locked the study, or nullopt. Errors (kStorage): as
// current_writers().
Result<std::optional<Writer>> runner_of(const std::string& storage, const StudyRecord& study);

// Returns the writer that runs the study, or nullptr.
const Writer* find_runner(std::span<const Writer> writers, StudyId id, std::string_view name);

// Returns the state to show: the database says RUNNING of a study that was killed, too, since only
// the lock knows whether a process runs it.
std::string_view shown_state(StudyPhase state, bool has_runner);

}  // namespace detol::inline cli

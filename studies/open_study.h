#pragma once

// A study opened for reading, and the process that runs it.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "knowledge/query.h"
#include "knowledge/storage/writer.h"

namespace detol::inline studies {

// OpenStudy is a study opened for reading.
struct OpenStudy {
  std::unique_ptr<Reader> reader;
  StudyRecord record;
};

// Opens a study, the newest if `study` is empty. Errors: kStorage, kEmpty if there is none, or
// kStudy with a did-you-mean.
Result<OpenStudy> open_study(const std::string& storage, const std::string& study);

// Returns the process that has locked the study, or nullopt. Errors (kStorage): as
// current_writers().
Result<std::optional<Writer>> runner_of(const std::string& storage, const StudyRecord& study);

// Returns the writer that runs the study, or nullptr.
const Writer* find_runner(std::span<const Writer> writers, StudyId id, std::string_view name);

// Returns the state to show: the database says RUNNING of a study that was killed, too, since only
// the lock knows whether a process runs it.
std::string_view shown_state(StudyPhase state, bool has_runner);

}  // namespace detol::inline studies

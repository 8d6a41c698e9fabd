#pragma once

// Whole studies: rename, copy, delete, with their folders of artefacts. Each of these takes the
// writer's lock and is crash-safe: after a kill at any instant the study is as before or as wanted.
//
// Errors of all: kStudy if there is no such study (with a did-you-mean), or one of the new
// name; kUsage if the new name is none; kStorage if a master runs any study of the database
// (naming host, pid and since when), or the disk refuses; then nothing has changed.

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.h"

namespace detol::inline knowledge {

// A file of this name in a study's folder asks the master that runs the study to stop.
inline constexpr const char* kStopRequest = "stop-requested";

struct StudySize {
  std::int64_t trials = 0;
  std::int64_t files = 0;
  std::int64_t bytes = 0;
};

// A name that a new study may have: commands would take one that begins with '-' for an option.
// Errors (kUsage).
Result<void> check_new_name(const std::string& name);

// Measures a study. Takes no lock.
Result<StudySize> measure_study(const std::filesystem::path& database, const std::string& name);

Result<void> rename_study(const std::filesystem::path& database, const std::string& name,
                          const std::string& new_name);

// The copy has the same history and continues exactly as the original would: the same seed, the
// same next proposals. Checkpoints are shared on disk (hard links) where the file system can.
Result<StudySize> copy_study(const std::filesystem::path& database, const std::string& name,
                             const std::string& new_name);

// Returns the size of what was deleted.
Result<StudySize> delete_study(const std::filesystem::path& database, const std::string& name);

}  // namespace detol::inline knowledge

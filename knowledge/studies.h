#pragma once

// Renames, copies and deletes whole studies with their folders of artefacts. Each of these takes
// the writer's lock and is crash-safe: after a kill at any instant it was done or not.
//
// Errors of all: kStudy if there is no such study (with a did-you-mean), or one of the new
// name; kUsage if the new name is invalid; kStorage if a master runs any study of the database
// (naming host, pid and since when), or a write fails; then nothing has changed.

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.h"

namespace detol::inline knowledge {

// By a file of this name in a study's folder, workers that join find the study's run.
inline constexpr const char* kJoinFile = "workers.json";

// Returns whether a file of a study's folder belongs to a run, so that a copy of the study has no
// use for it.
bool is_of_a_run(const std::filesystem::path& file);

struct StudySize {
  std::int64_t trials = 0;
  std::int64_t files = 0;
  std::int64_t bytes = 0;
};

// Checks that a new study may have the name: commands would read one that begins with '-' as an
// option. Errors (kUsage).
Result<void> check_new_name(const std::string& name);

// Measures a study. Takes no lock.
Result<StudySize> measure_study(const std::filesystem::path& database, const std::string& name);

Result<void> rename_study(const std::filesystem::path& database, const std::string& name,
                          const std::string& new_name);

// Copies a study. The copy has the same history and continues exactly as the original would: the
// same seed, the same next proposals. Checkpoints are hard links if the file system has them.
Result<StudySize> copy_study(const std::filesystem::path& database, const std::string& name,
                             const std::string& new_name);

// Deletes a study and returns its size.
Result<StudySize> delete_study(const std::filesystem::path& database, const std::string& name);

}  // namespace detol::inline knowledge

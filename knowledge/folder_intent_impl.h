#pragma once

// FolderIntent: an intent record for a change of both the database and a study's folder of
// artefacts. The change of the folder is recorded durably first (`<file name>.d/.pending`); then
// the database commits, which decides; then the folder is renamed or removed. A kill at any instant
// leaves the record for the next process that opens the database. It changes the folder, too, if
// the condition on the right holds, and else only removes the record:
//
//   rename   record; commit; rename the folder              the new name is in the database
//   delete   record; commit; remove the folder              the name is not in the database
//   copy     record; create a folder of hard links;         the name is not in the database:
//            commit                                         remove the folder

#include <filesystem>
#include <functional>
#include <string>

#include "core/result.h"
#include "knowledge/verify_impl.h"

namespace detol::inline knowledge {

struct FolderIntent {
  std::string folder;    // removed or renamed if no study has its name
  std::string new_name;  // its new name, if a study has that; empty: the folder is removed
};

// Runs `change`, which commits or fails, with the record around it. REQUIRES: the writer's lock
// is held. Errors (kStorage), and those of `change`.
Result<void> with_intent(const std::filesystem::path& path, PageVerification& pages,
                         const FolderIntent& intent, const std::function<Result<void>()>& change);

// Completes what a killed process left, if anything. REQUIRES: the writer's lock is held.
// Errors (kStorage): a folder that cannot be renamed or removed; the record stays.
Result<void> recover_intent(const std::filesystem::path& path, PageVerification& pages);

// Returns true if a process was killed during a change, or makes one now.
bool has_intent(const std::filesystem::path& path);

}  // namespace detol::inline knowledge

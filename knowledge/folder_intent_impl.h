#pragma once

// FolderIntent: an intent record for a change of both the database and a study's folder of
// artefacts. The change of the folder is recorded durably first (`<file name>.d/.pending`); then
// the database commits, which decides; then the folder follows. A kill at any instant leaves the
// record for the next process that opens the database, and the database says whether the folder has
// still to follow or the change never happened:
//
//   rename   record; commit; the folder takes its new name        the new name is in the database
//   delete   record; commit; the folder goes                      the name is not in the database
//   copy     record; a folder of hard links; commit               the folder goes if the name is
//                                                               not in the database

#include <filesystem>
#include <functional>
#include <string>

#include "core/result.h"
#include "knowledge/sqlite_impl.h"

namespace detol::inline knowledge {

struct FolderIntent {
  std::string folder;    // goes if no study has its name,
  std::string new_name;  // or, unless this is empty, takes this name if a study has that
};

// Runs `change`, which commits or fails, with the record around it. REQUIRES: the writer's lock
// is held. Errors (kStorage), and those of `change`.
Result<void> with_intent(const std::filesystem::path& path, sqlite3* database,
                         const FolderIntent& intent, const std::function<Result<void>()>& change);

// Completes what a killed process left, if anything. REQUIRES: the writer's lock is held.
// Errors (kStorage): a folder that cannot be renamed or removed; the record stays.
Result<void> recover_intent(const std::filesystem::path& path, sqlite3* database);

// True if a process was killed in the middle, or one is in the middle now.
bool has_intent(const std::filesystem::path& path);

}  // namespace detol::inline knowledge

#pragma once

// Pending: a change that touches both the database and a study's folder of artefacts. What is
// to happen to the folder is written down durably first (`<file name>.d/.pending`); then the
// database commits, which decides; then the folder follows. A kill at any instant leaves a
// note that the next process to open the database reads, and the database says whether the
// folder has still to follow or the change never happened:
//
//   rename   note; commit; the folder takes its new name        the new name is in the database
//   delete   note; commit; the folder goes                      the name is not in the database
//   copy     note; a folder of hard links; commit               the folder goes if the name is
//                                                               not in the database

#include <filesystem>
#include <functional>
#include <string>

#include "core/result.h"
#include "knowledge/sqlite_impl.h"

namespace detol {

struct Pending {
  std::string folder;    // goes if no study has its name,
  std::string new_name;  // or, unless this is empty, takes this name if a study has that
};

// Runs `change`, which commits or fails, with the note around it. REQUIRES: the writer's lock
// is held. Errors (kStorage), and those of `change`.
Result<void> with_pending(const std::filesystem::path& path, sqlite3* database,
                          const Pending& pending, const std::function<Result<void>()>& change);

// Completes what a killed process left, if anything. REQUIRES: the writer's lock is held.
// Errors (kStorage): a folder that cannot be renamed or removed; the note stays.
Result<void> settle_pending(const std::filesystem::path& path, sqlite3* database);

// True if a process was killed in the middle, or one is in the middle now.
bool is_pending(const std::filesystem::path& path);

}  // namespace detol

#pragma once

// Artefacts: the checkpoints and logs of a database, in the folder `<file name>.d/` beside it, with
// a folder per study and in it one per trial. The folder belongs to one database: its file `.owner`
// and the database store the same id. Opening a database for writing creates the folder or checks
// that it is the database's own. A copy of the database has no such folder: it creates one, and
// gets a new id.
//
// An older detol named the folder `<stem>.d`, and databases of one stem shared it. Such a folder is
// renamed by its database, if no other could have written it.

#include <filesystem>
#include <string>

#include "core/result.h"

namespace detol::inline knowledge {

// Returns detol.db.d/fashion for detol.db and fashion, beside the file that a symbolic link names.
std::filesystem::path artefact_folder(const std::filesystem::path& database,
                                      const std::string& study);

// Returns the same for a reader, or the folder of an older detol if no writer has renamed it yet.
// The folder may not exist. Errors (kStorage), with what to do: it belongs to another database, or
// its owner is unknown.
Result<std::filesystem::path> find_artefacts(const std::filesystem::path& database,
                                             const std::string& study);

// Shares the checkpoints in one trial's folder with another's, which it creates: as hard links, or
// copies where the file system has none, so that deleting one leaves the other. A folder without
// checkpoints leaves nothing. Errors (kStorage).
Result<void> share_checkpoints(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace detol::inline knowledge

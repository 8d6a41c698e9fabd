#pragma once

// Artefacts: what a database keeps outside itself, `<file name>.d/`: checkpoints and logs, a folder
// per study with one per trial. The folder belongs to one database: its file `.owner` holds the id
// of that database, which holds it too. Whoever opens the database for writing makes the folder, or
// finds it to be its own; a copy of the database has no folder of that name, and gets another id
// with the one that it makes.
//
// An older detol named the folder `<stem>.d`, and databases of one stem shared it. Such a folder is
// renamed by its database, if no other could have written it.

#include <filesystem>
#include <string>

#include "core/result.h"

namespace detol::inline knowledge {

// detol.db, fashion -> detol.db.d/fashion, beside the file itself where `database` is a link.
std::filesystem::path artefact_folder(const std::filesystem::path& database,
                                      const std::string& study);

// The same for whoever only reads: before a writer renamed it, the folder of an older detol. May
// not exist. Errors (kStorage): the folder belongs to another database, or nobody can tell; what
// to do.
Result<std::filesystem::path> find_artefacts(const std::filesystem::path& database,
                                             const std::string& study);

}  // namespace detol::inline knowledge

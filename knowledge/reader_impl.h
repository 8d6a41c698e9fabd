#pragma once

#include <filesystem>

#include "knowledge/storage/sqlite.h"

namespace detol::inline knowledge {

// Opens a database of this version or an older one, whose views may differ, for reading. On a
// network file system it opens the master's snapshot while a master runs, and logs its age; else
// the file itself, which no other process can open until the connection is closed. Errors: kStudy
// if there is no database, kStorage.
Result<sqlite::Database> open_for_reading(const std::filesystem::path& path);

}  // namespace detol::inline knowledge

#pragma once

// Migrations: a database that an older detol wrote gets this version's schema when it is opened for
// writing. A new version is one more row of the table in migration.cpp, and one more file in
// tests/knowledge/golden.

#include <filesystem>

#include "knowledge/storage/sqlite.h"

namespace detol::inline knowledge {

// Keeps a verified copy of an older `database` beside its file `path`, detol.db.v<version>.backup,
// and migrates it in one transaction; logs that. A database of this version stays as it is.
// REQUIRES: the writer's lock is held, no transaction is open. Errors (kStorage): the database is
// damaged or newer, a write fails; the database is as it was.
Result<void> migrate(const std::filesystem::path& path, sqlite3* database);

}  // namespace detol::inline knowledge

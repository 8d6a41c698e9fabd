#pragma once

#include <filesystem>

#include "knowledge/sqlite_impl.h"

namespace detol::inline knowledge {

// Makes `file` a verified copy of the whole of `source`, without a log, whole or not at all.
// Errors (kStorage).
Result<void> copy_database(sqlite3* source, const std::filesystem::path& file);

// Checks that `file`, if it exists, is a knowledge base, which a copy may replace. Errors
// (kStorage): it is something else.
Result<void> check_is_database(const std::filesystem::path& file);

}  // namespace detol::inline knowledge

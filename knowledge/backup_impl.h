#pragma once

#include <filesystem>

#include "knowledge/sqlite_impl.h"

namespace detol::inline knowledge {

// Makes `file` a verified copy of `source`, without a log; after an error `file` is as it was.
// Errors (kStorage).
Result<void> copy_database(sqlite3* source, const std::filesystem::path& file);

// Checks that `file`, if it exists, is a knowledge base, which a copy may replace. Errors
// (kStorage): it is something else.
Result<void> check_is_database(const std::filesystem::path& file);

}  // namespace detol::inline knowledge

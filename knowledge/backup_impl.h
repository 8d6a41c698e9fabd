#pragma once

#include <filesystem>

#include "knowledge/reader_impl.h"

namespace detol::inline knowledge {

// Opens a database for reading without verifying checksums of pages, since the rows of the copy
// will be verified. Errors: as open_for_reading().
Result<ReadableDatabase> open_for_copying(const std::filesystem::path& path);

// Makes `file` a verified copy of `source`, without a log; after an error `file` is as it was.
// Errors (kStorage).
Result<void> copy_database(sqlite3* source, const std::filesystem::path& file);

// Checks that `file`, if it exists, is a knowledge base, which a copy may replace. Errors
// (kStorage): it is something else.
Result<void> check_is_database(const std::filesystem::path& file);

}  // namespace detol::inline knowledge

#pragma once

#include <filesystem>

#include "knowledge/sqlite_impl.h"

namespace detol {

// A read-only connection to a database of this version. Errors (kStorage).
Result<sqlite::Database> open_for_reading(const std::filesystem::path& path);

}  // namespace detol

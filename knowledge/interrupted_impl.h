#pragma once

// Marks of a restore() or recover() (maintenance.h) that has not ended.

#include <filesystem>

#include "core/result.h"

namespace detol::inline knowledge {

// Returns the path of the verified copy that will replace the database.
std::filesystem::path restoring_of(const std::filesystem::path& database);

// Returns the path of the original log while recover() tries shorter ones.
std::filesystem::path recovering_of(const std::filesystem::path& database);

// Checks that the file and its log belong together. Errors (kStorage): restore() or recover() was
// killed at a moment when they may not.
Result<void> check_not_restoring(const std::filesystem::path& database);

}  // namespace detol::inline knowledge

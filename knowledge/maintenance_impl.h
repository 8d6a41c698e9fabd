#pragma once

#include <filesystem>

#include "core/result.h"

namespace detol::inline knowledge {

// Checks that the file and its log belong together. Errors (kStorage): restore() or recover() was
// killed at a moment when they may not.
Result<void> check_not_restoring(const std::filesystem::path& database);

}  // namespace detol::inline knowledge

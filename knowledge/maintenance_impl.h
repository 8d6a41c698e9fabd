#pragma once

#include <filesystem>

#include "core/result.h"

namespace detol::inline knowledge {

// Errors (kStorage): restore() or recover() was killed at a moment when the file and the log beside
// it may not belong together.
Result<void> check_not_restoring(const std::filesystem::path& database);

}  // namespace detol::inline knowledge

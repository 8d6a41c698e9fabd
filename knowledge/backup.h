#pragma once

// A copy of a knowledge base that is known to be good.

#include <cstdint>
#include <filesystem>

#include "core/result.h"

namespace detol {

// Copies the database as it is at one moment, also while a master writes it, which is not kept
// waiting: a temporary file, examined by check(), then renamed. Errors (kStorage): `file`
// exists and may not be replaced; the database is damaged; the disk refuses. Then `file` is as
// it was.
Result<void> back_up(const std::filesystem::path& database, const std::filesystem::path& file,
                     bool may_replace);

}  // namespace detol

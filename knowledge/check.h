#pragma once

// Is a knowledge base what was written? SQLite notices a broken structure, but most single
// flipped bits only change a value; the checksums find those.

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"

namespace detol {

// Examines the whole file: structure, every index against its table, every row's checksum.
// Returns what is wrong, one line each; empty: sound. Reads the file about three times.
// Errors (kStorage): the file is missing, or not a database of this version.
Result<std::vector<std::string>> check(const std::filesystem::path& path);

}  // namespace detol

#pragma once

// Checks that a knowledge base holds what was written. SQLite detects a broken structure, but most
// single flipped bits only change a value; the checksums find those.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"

namespace detol::inline knowledge {

// Examines the whole file: structure, every index against its table, every row's checksum.
// Returns the problems, one line each; none if it is sound. Reads the file about three times.
// Errors (kStorage): the file is missing, or not a database of this version.
Result<std::vector<std::string>> check(const std::filesystem::path& path);

struct Counts {
  std::int64_t studies = 0;
  std::int64_t trials = 0;
  std::int64_t rows = 0;  // events: a row may hold several
};

Result<Counts> count(const std::filesystem::path& path);

// Checks that everything in an older copy is still there: studies (by number and time of creation;
// those deleted since are skipped), their configuration and every event. Returns the differences,
// one line each. Errors (kStorage): either is damaged, missing or of another version.
Result<std::vector<std::string>> compare(const std::filesystem::path& path,
                                         const std::filesystem::path& older);

}  // namespace detol::inline knowledge

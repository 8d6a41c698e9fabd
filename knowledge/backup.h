#pragma once

// Makes verified copies of a knowledge base.

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/result.h"

namespace detol::inline knowledge {

// Returns the default path of a backup: detol.db.backup.
std::filesystem::path default_backup(const std::filesystem::path& database);

// Returns the newest backup that back_up_rotating() left at the default path; nullopt if none.
std::optional<std::filesystem::path> last_backup(const std::filesystem::path& database);

// Copies the database as it is at one moment, also while a master writes it, without blocking the
// master: writes a temporary file, verifies it with check() and renames it. Errors (kStorage):
// `file` exists and may not be replaced; the database is damaged; a write fails. Then `file` is as
// it was.
Result<void> back_up(const std::filesystem::path& database, const std::filesystem::path& file,
                     bool may_replace);

// Does the same, and keeps `keep` copies: `file` is the newest, `file`.1 the one before, and so on;
// the oldest is replaced once the newest is verified. Errors (kStorage): as above; `file` is no
// backup.
// REQUIRES: keep >= 1.
Result<void> back_up_rotating(const std::filesystem::path& database,
                              const std::filesystem::path& file, std::int64_t keep);

}  // namespace detol::inline knowledge

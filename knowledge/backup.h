#pragma once

// Copies of a knowledge base that are known to be good.

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/result.h"

namespace detol::inline knowledge {

// The default place of a backup: detol.db.backup
std::filesystem::path default_backup(const std::filesystem::path& database);

// The newest file that back_up_rotating() left at the default place; nullopt: there is none.
std::optional<std::filesystem::path> last_backup(const std::filesystem::path& database);

// Copies the database as it is at one moment, also while a master writes it, which is not kept
// waiting: a temporary file, examined by check(), then renamed. Errors (kStorage): `file`
// exists and may not be replaced; the database is damaged; the disk refuses. Then `file` is as
// it was.
Result<void> back_up(const std::filesystem::path& database, const std::filesystem::path& file,
                     bool may_replace);

// The same, and keeps `keep` copies: `file` is the newest, `file`.1 the one before, and so on; the
// oldest goes when the newest is verified. Errors (kStorage): as above; `file` is no backup.
// REQUIRES: keep >= 1.
Result<void> back_up_rotating(const std::filesystem::path& database,
                              const std::filesystem::path& file, std::int64_t keep);

}  // namespace detol::inline knowledge

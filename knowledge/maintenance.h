#pragma once

// Maintenance of a whole knowledge base. Each function takes the writer's lock.
//
// Errors of all (kStorage): a master runs, naming host, pid and since when; a write fails; and
// those that each function lists. Then the knowledge base is as it was.

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/result.h"

namespace detol::inline knowledge {

// Replaces the database by a verified copy of `backup`. The old database, damaged or not, is kept
// beside it with its log. Returns the old one's new name; nullopt if there was none. A kill at any
// instant leaves the old one, the new one, or a state in which no command opens the database until
// this is called again. Errors: `backup` is damaged, or is the database itself.
Result<std::optional<std::filesystem::path>> restore(const std::filesystem::path& database,
                                                     const std::filesystem::path& backup);

// Drops what a damaged log lost: keeps the events before the damage, and the old log beside the new
// one. Returns the old log's name; nullopt if the log is sound. Errors: another program has the
// database open; the database before the damage is not whole, as after a checkpoint.
Result<std::optional<std::filesystem::path>> recover(const std::filesystem::path& database);

struct Vacuumed {
  std::int64_t bytes_before = 0;
  std::int64_t bytes_after = 0;
};

// Returns the space of deleted studies to the disk. Needs about the database's size as free space
// meanwhile. Errors: the database is damaged.
Result<Vacuumed> vacuum(const std::filesystem::path& database);

}  // namespace detol::inline knowledge

#pragma once

// Maintenance of a whole knowledge base that nobody writes. Each function takes the writer's lock.
//
// Errors of all (kStorage): a master lives, naming host, pid and since when; the disk refuses;
// and those that each function lists. Then the knowledge base is as it was.

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/result.h"

namespace detol::inline knowledge {

// Puts a verified copy of `backup` in the database's place. What was there, damaged or not, is
// kept beside it with its log. Returns its new name; nullopt: there was nothing. A kill at any
// instant leaves the old, the new, or a place that nobody opens until this is called again.
// Errors: `backup` is damaged, or the database itself.
Result<std::optional<std::filesystem::path>> restore(const std::filesystem::path& database,
                                                     const std::filesystem::path& backup);

// Accepts the loss that a damaged log means: keeps what precedes the damage, and the log as it was
// beside it. Returns that one's name; nullopt: the log is sound. Errors: another program has the
// database open; what precedes the damage is not whole, as after a checkpoint.
Result<std::optional<std::filesystem::path>> recover(const std::filesystem::path& database);

struct Vacuumed {
  std::int64_t bytes_before = 0;
  std::int64_t bytes_after = 0;
};

// Gives the room of deleted studies back to the disk. Needs about as much again meanwhile. Errors:
// the database is damaged.
Result<Vacuumed> vacuum(const std::filesystem::path& database);

}  // namespace detol::inline knowledge

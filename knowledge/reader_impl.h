#pragma once

#include <filesystem>

#include "knowledge/sqlite_impl.h"

namespace detol::inline knowledge {

// A read-only connection to a database of this version or an older one, whose views may be other
// ones. On a network file system it is the
// master's snapshot while a master lives, saying how old that is, and else the file itself,
// which nobody else can open until the connection is closed. Errors (kStorage).
Result<sqlite::Database> open_for_reading(const std::filesystem::path& path);

}  // namespace detol::inline knowledge

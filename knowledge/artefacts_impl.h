#pragma once

// A writer claims the folder of artefacts: the claim is made before anything is changed, and kept
// once the database stores its id.

#include <cstdint>
#include <filesystem>

#include "core/result.h"
#include "knowledge/sqlite_impl.h"

namespace detol::inline knowledge {

// DatabaseId is stored in the table `writer`. It stays when a writer takes the database over.
using DatabaseId = std::uint32_t;

struct ArtefactClaim {
  DatabaseId id = 0;           // of the database from now on
  std::filesystem::path from;  // the path that becomes the folder; empty: a new one
  bool is_marked = false;      // it says already whose it is
};

// Errors (kStorage): a folder with something in it has the name that a database at `path`, which is
// not there yet, will need.
Result<void> check_nobodys_artefacts(const std::filesystem::path& path);

// Finds the database's folder, and the id that the database needs for it. Changes nothing. Errors
// (kStorage): the folder belongs to another database, or nobody can tell; what to do.
Result<ArtefactClaim> claim_artefacts(const std::filesystem::path& path, sqlite3* handle);

// Makes, renames and marks the folder. REQUIRES: the writer's lock is held, and the database has
// the claim's id. Errors (kStorage).
Result<void> keep_claim(const std::filesystem::path& path, const ArtefactClaim& claim);

}  // namespace detol::inline knowledge

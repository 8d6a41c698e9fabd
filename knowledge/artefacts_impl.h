#pragma once

// A writer claims the folder of artefacts: claim_artefacts() changes nothing, and apply_claim()
// creates or renames the folder once the database stores the claim's id.

#include <cstdint>
#include <filesystem>

#include "core/result.h"
#include "knowledge/storage/sqlite.h"

namespace detol::inline knowledge {

// DatabaseId is stored in the table `identity`. Every writer of the database has the same.
using DatabaseId = std::uint32_t;

struct ArtefactClaim {
  DatabaseId id = 0;           // the database's from now on
  std::filesystem::path from;  // the folder to rename or keep; empty: create one
  bool is_marked = false;      // `from` has the mark with this id
};

// Checks the folder of a database that does not exist yet. Errors (kStorage): it is not empty.
Result<void> check_no_artefacts(const std::filesystem::path& path);

// Finds the database's folder, and the id that the database needs for it. Changes nothing. Errors
// (kStorage), with what to do: the folder belongs to another database, or its owner is unknown.
Result<ArtefactClaim> claim_artefacts(const std::filesystem::path& path, sqlite3* handle);

// Creates or renames the folder, and marks it. REQUIRES: the writer's lock is held, and the
// database has the claim's id. Errors (kStorage).
Result<void> apply_claim(const std::filesystem::path& path, const ArtefactClaim& claim);

}  // namespace detol::inline knowledge

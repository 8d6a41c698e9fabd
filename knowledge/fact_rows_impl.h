#pragma once

// Rows of facts with their checksums: what the ledger writes and both the ledger and readers read
// back.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "knowledge/facts.h"
#include "knowledge/storage/sqlite.h"

namespace detol::inline knowledge {

// Adds the facts whose kind and key are new. Errors (kStorage). REQUIRES: inside a transaction.
Result<void> write_facts(sqlite3* database, std::span<const Fact> facts);

// Returns the facts of a kind, or, if it is empty, of all, in the order of kind and key, after
// verifying their checksums; none if the database's schema is older than facts. Errors (kStorage):
// one is damaged.
Result<std::vector<Fact>> read_facts(sqlite3* database, const std::string& kind);

// Returns how many facts there are; none if the database's schema is older than facts. Errors
// (kStorage).
Result<std::int64_t> count_facts(sqlite3* database);

// Returns the fact of that kind and key, after verifying its checksum; nullopt: there is none.
// Errors (kStorage): it is damaged.
Result<std::optional<Fact>> find_fact(sqlite3* database, const std::string& kind,
                                      const std::string& key);

}  // namespace detol::inline knowledge

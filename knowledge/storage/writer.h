#pragma once

// Writer: a process that writes a knowledge base now. Several may, each its own studies. Works from
// any machine that sees its folder.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace detol::inline knowledge {

struct Writer {
  std::string host = "unknown";
  int pid = 0;
  std::string since = "unknown";  // "2026-11-20 10:00:00 UTC"
  std::string study;              // the study that it runs; empty: none
  std::int64_t study_id = 0;      // of the study that it locks; 0: it locks the whole database
};

// Returns "process 17 on host a since 2026-11-20 10:00:00 UTC".
std::string to_text(const Writer& writer);

// Returns a live process that may write `database`, if possible one that locks a study, or nullopt.
// Errors (kStorage): its lock cannot be read.
Result<std::optional<Writer>> current_writer(const std::filesystem::path& database);

// Returns a writer for each study that a live process locks, ordered by the study's number; or, if
// one locks the whole database (for its maintenance, on a network file system, or because it is an
// older detol), that one alone. Errors (kStorage): as current_writer().
Result<std::vector<Writer>> current_writers(const std::filesystem::path& database);

}  // namespace detol::inline knowledge

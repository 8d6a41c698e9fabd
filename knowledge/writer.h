#pragma once

// Writer: the process that writes a knowledge base now. Works from any machine that sees its
// folder.

#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"

namespace detol::inline knowledge {

struct Writer {
  std::string host = "unknown";
  int pid = 0;
  std::string since = "unknown";  // "2026-11-20 10:00:00 UTC"
  std::string study;              // the study that it runs; empty: none
};

// Returns "process 17 on host a since 2026-11-20 10:00:00 UTC".
std::string to_text(const Writer& writer);

// Returns the live process that may write `database`, or nullopt. Errors (kStorage): its lock
// cannot be read.
Result<std::optional<Writer>> current_writer(const std::filesystem::path& database);

}  // namespace detol::inline knowledge

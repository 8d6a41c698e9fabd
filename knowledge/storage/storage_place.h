#pragma once

// Tests whether a folder can hold a knowledge base, before there is one.

#include <filesystem>
#include <string>

#include "core/result.h"

namespace detol::inline knowledge {

struct StoragePlace {
  std::string folder;
  std::string file_system;  // "ext4", "nfs", or the number of an unknown type
  bool is_on_network = false;
};

// Writes, locks and syncs a file of its own there, and removes it. Errors (kStorage): the folder
// and the reason.
Result<StoragePlace> storage_place(const std::filesystem::path& database);

}  // namespace detol::inline knowledge

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "knowledge/interrupted_impl.h"

namespace detol::inline knowledge {

namespace fs = std::filesystem;

fs::path restoring_of(const fs::path& database) {
  return database.string() + ".restoring";
}

fs::path recovering_of(const fs::path& database) {
  return database.string() + ".recovering";
}

Result<void> check_not_restoring(const fs::path& database) {
  for (const auto& [file, command] : {std::pair{restoring_of(database), "restore"},
                                      std::pair{recovering_of(database), "recover"}}) {
    std::error_code error;
    if (!fs::exists(fs::symlink_status(file, error))) continue;
    return fail(ErrorCode::kStorage, fmt::format("{}: `detol db {}` was interrupted; run it again",
                                                 database.string(), command));
  }
  return {};
}

}  // namespace detol::inline knowledge

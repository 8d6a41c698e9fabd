#include "core/program.h"

#include <system_error>

namespace detol::inline core {

std::filesystem::path program_path() {
  constexpr const char* kLink = "/proc/self/exe";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink(kLink, error);
  // The kernel appends " (deleted)" to the name of a file that is gone.
  return !error && std::filesystem::exists(path, error) ? path : kLink;
}

}  // namespace detol::inline core

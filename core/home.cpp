#include "core/home.h"

#include <cstdlib>
#include <string_view>

namespace detol::inline core {

std::filesystem::path at_home(const std::string& written) {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
  if (home == nullptr || *home == '\0') return written;
  for (const std::string_view word : {"~/", "$HOME/", "${HOME}/"}) {
    if (written.starts_with(word)) return std::filesystem::path(home) / written.substr(word.size());
  }
  return written;
}

}  // namespace detol::inline core

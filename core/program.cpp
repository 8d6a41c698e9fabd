#include "core/program.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <system_error>

namespace detol::inline core {

std::filesystem::path program_path() {
  constexpr const char* kLink = "/proc/self/exe";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink(kLink, error);
  // The kernel appends " (deleted)" to the name of a file that is gone.
  return !error && std::filesystem::exists(path, error) ? path : kLink;
}

std::string find_program(const std::string& name) {
  const auto is_program = [](const std::filesystem::path& file) {
    std::error_code error;
    return std::filesystem::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos)
    return is_program(name) ? std::filesystem::absolute(name).string() : "";
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string program = std::filesystem::path(folder) / name;
    if (is_program(program)) return program;
  }
  return {};
}

std::string shell_quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace detol::inline core

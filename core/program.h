#pragma once

#include <filesystem>

namespace detol {

// The file of the running program, by its real path: what a child that is this program again is
// started from. Once that file was renamed over or removed, as by an upgrade, "/proc/self/exe",
// which still opens the program that runs. A real path is preferred as `ps` shows its name, and as
// valgrind takes "/proc/self/exe" for itself.
std::filesystem::path program_path();

}  // namespace detol

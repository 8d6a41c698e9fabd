#pragma once

#include <filesystem>

namespace detol::inline core {

// Returns the real path of the running program, for children that run it again. After that file was
// renamed over or removed, as by an upgrade, returns "/proc/self/exe", which still opens the
// running program. A real path is preferred, since `ps` shows its name, and under valgrind
// "/proc/self/exe" is valgrind.
std::filesystem::path program_path();

}  // namespace detol::inline core

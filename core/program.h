#pragma once

#include <filesystem>
#include <string>

namespace detol::inline core {

// Returns the real path of the running program, for children that run it again. After that file was
// renamed over or removed, as by an upgrade, returns "/proc/self/exe", which still opens the
// running program. A real path is preferred, since `ps` shows its name, and under valgrind
// "/proc/self/exe" is valgrind.
std::filesystem::path program_path();

// Returns the absolute path of a program: of `name` itself if it has a slash, else the first of the
// PATH; empty if there is none. REQUIRES: no other thread changes the environment.
std::string find_program(const std::string& name);

// Returns the word as a shell reads it back.
std::string shell_quoted(const std::string& word);

}  // namespace detol::inline core

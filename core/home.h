#pragma once

// Paths that begin at the user's home folder.

#include <filesystem>
#include <string>

namespace detol::inline core {

// Returns the path with the user's folder for what shells replace by it, ~/ or $HOME/ or ${HOME}/
// in front: no shell reads a space file, a variable's value or what follows `--flag=`.
std::filesystem::path at_home(const std::string& written);

}  // namespace detol::inline core

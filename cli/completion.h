#pragma once

#include <string>
#include <string_view>

namespace detol::inline cli {

// Returns the script that completes detol's words in a shell. REQUIRES: bash, zsh or fish.
std::string completion_script(std::string_view shell);

}  // namespace detol::inline cli

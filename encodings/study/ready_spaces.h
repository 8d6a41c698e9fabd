#pragma once

// Ready space files: those that are installed with the program, or lie in its sources.

#include <string>
#include <vector>

#include "core/result.h"

namespace detol::inline encoding {

// Returns the path of a space file: `name` itself if it exists, else the installed one of that name
// ("cnn", "cnn.yaml", "configs/cnn.yaml"), else `name`.
std::string find_space(const std::string& name);

// Returns the names of the installed space files, sorted: "cnn", "table", ...
std::vector<std::string> space_names();

// Returns what find_space() does. Errors (kInput): there is no such file, and none is called so.
Result<std::string> existing_space(const std::string& name);

}  // namespace detol::inline encoding

#pragma once

// The program on a terminal, with typed input.

#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace detol::testing_support {

// Runs `detol <words>` in `folder` on a terminal of its own, into which `typed` is typed; `out` is
// all that appears there.
Ran run_on_terminal(const std::filesystem::path& folder, const std::vector<std::string>& words,
                    const std::string& typed);

}  // namespace detol::testing_support

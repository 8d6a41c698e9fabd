#pragma once

// Parsing: from argv to a command and its arguments. Only this code uses CLI11.

#include <string>
#include <vector>

#include "cli/commands.h"

namespace detol::inline cli {

struct Call {
  const Command* command = nullptr;  // nullptr: print `text` and be done (help, version)
  Arguments arguments;
  std::string text;
};

// Parses `words`, argv without the program's name. Applies DETOL_STORAGE and sets up the log.
// Errors (kUsage): one line, with a did-you-mean.
Result<Call> parse(const std::vector<std::string>& words);

}  // namespace detol::inline cli

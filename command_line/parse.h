#pragma once

// Parsing: from argv to a command and its arguments. Only this code uses CLI11.

#include <string>
#include <vector>

#include "command_line/command.h"

namespace detol::inline command_line {

struct Call {
  const Command* command = nullptr;  // nullptr: print `text` and be done (help, version)
  Arguments arguments = {};
  std::string text;
};

// WordHint returns what a message adds about a word that a command does not take; mostly nothing.
using WordHint = std::string (*)(const Command& command, const std::string& word);

// Parses `words`, argv without the program's name; `globals` of the arguments stay as they are.
// Errors (kUsage): one line, with a did-you-mean.
Result<Call> parse(const CommandTable& table, const std::vector<std::string>& words, WordHint hint);

}  // namespace detol::inline command_line

#pragma once

// Completion: scripts by which bash, zsh and fish complete the words of the program.

#include <string>
#include <string_view>

#include "command_line/command.h"

namespace detol::inline command_line {

// CompletionWords: what the table of commands does not say of its words.
struct CompletionWords {
  std::string_view studies;  // a shell command that prints what may be the argument STUDY
  std::string (*values)(const Option& option);  // of an option, with blanks; empty: any, or a file
  // The same as an expression of bash, in which $word is what was written and $study the STUDY.
  std::string (*bash_values)(const Command& command, const Option& option);
  std::string bash_cases;  // more cases of "$line": the command and the word before
};

// REQUIRES: the shell is bash, zsh or fish.
std::string completion_script(const CommandTable& table, std::string_view shell,
                              const CompletionWords& words);

}  // namespace detol::inline command_line

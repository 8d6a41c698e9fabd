#pragma once

// Manual: the table of commands as manual pages, in the language of roff's macros man(7).

#include <string>
#include <string_view>

#include "command_line/command.h"

namespace detol::inline command_line {

// Returns the text as roff prints it as it is: no letter of it is a request or an escape.
std::string roff_text(std::string_view text);

// Returns "detol-study-rename" for the command "study rename".
std::string page_name(const Command& command);

// Returns the page detol(1): every command, the global options, the exit codes.
std::string manual_page(const CommandTable& table);

// Returns the page of a command, detol-search(1).
std::string manual_page(const Command& command);

}  // namespace detol::inline command_line

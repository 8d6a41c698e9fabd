#pragma once

// The line of a file that an error is about, for a terminal.

#include <string>
#include <string_view>

#include "core/terminal.h"

namespace detol::inline core {

// Returns the line that a message "FILE:LINE:COL: ..." names, and below it a caret at the column
// (in bytes, from 1), each behind the line's number and with a line end; a long line is cut before
// and behind the place. Empty if the message names no line of a text file of at most 1 MB.
std::string source_excerpt(std::string_view message, const Screen& screen);

}  // namespace detol::inline core

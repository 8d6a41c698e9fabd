#pragma once

// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF.

#include <cstddef>
#include <string>
#include <string_view>

namespace detol::inline core {

// Returns the number of bytes of the character that `text` begins with; 0 if it begins with none.
// REQUIRES: !text.empty().
std::size_t utf8_length(std::string_view text);

// Returns true if all of it is UTF-8. Only such text may be written to JSON, and so to exports.
bool is_utf8(std::string_view text);

// Returns true if all of it is ASCII without control characters: it is its own printable().
bool is_plain_ascii(std::string_view text);

// Makes text from outside one line that is harmless to a terminal: control characters, line ends
// among them, and bytes that are not UTF-8 are written as in C ("\\x1b", "\\n").
std::string printable(std::string_view text);

// Returns printable() of the first 400 bytes of `text`, with "..." behind it if there are more. For
// messages of libraries, which quote what they read however long it is.
std::string printable_excerpt(std::string_view text);

}  // namespace detol::inline core

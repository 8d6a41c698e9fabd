#pragma once

// Values as people write them. A parameter of a program is a word first: `3.10` and `007` are no
// numbers to a program that takes versions or codes.

#include <string_view>

#include "encodings/space/value.h"

namespace detol::inline encoding {

// Returns the number that a word is, as YAML 1.2 writes finite ones (a plus may precede it); else
// the word itself.
Value number_or_text(std::string_view word);

// Returns true, false, or a number, if the word says no more than the value does: 16, 0.5, .5, 1.0,
// 1e-3. Else the word itself: 3.10, 007, +1, 0x10, and numbers of more digits than a number keeps.
Value value_of_word(std::string_view word);

// Returns whether the number is the value of a text that value_of_word() does not take for one, as
// 3.1 is of 3.10. Earlier versions recorded such numbers.
bool is_number_of(std::string_view text, double number);

}  // namespace detol::inline encoding

#pragma once

// A table as text: which of its columns are printed, under which names, and how wide. Private to
// output.cpp.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/utf8.h"
#include "printing/style.h"

namespace detol::inline printing {

using Sink = std::function<Result<void>(const std::string&)>;

// Returns the terminal columns of UTF-8 text, one per code point.
std::size_t width_of(std::string_view word);

// Appends a word with blanks behind it, or before it if it stands on the right.
void append_padded(std::string& line, std::string_view word, std::size_t width, bool right);

std::string bold(const std::string& text, bool color);

// Table: the words of a table one behind the other, the title's first. A string of each would take
// as much memory as the rows.
struct Table {
  explicit Table(std::size_t columns)
      : widths(columns, 0), body_widths(columns, 0), right(columns, true) {}

  // Ends the word that was appended to `words`. Text from outside becomes harmless.
  void end_word() {
    const std::size_t begin = ends.empty() ? 0 : ends.back();
    const std::size_t column = ends.size() % widths.size();
    if (!is_plain_ascii(std::string_view(words).substr(begin)))
      words.replace(begin, std::string::npos, printable(words.substr(begin)));
    const bool is_title = ends.size() < widths.size();
    const std::size_t width = width_of(std::string_view(words).substr(begin));
    ends.push_back(words.size());
    widths[column] = std::max(widths[column], width);
    if (!is_title) body_widths[column] = std::max(body_widths[column], width);
  }

  std::string words;
  std::vector<std::size_t> ends;         // of each word
  std::vector<std::size_t> widths;       // of each column
  std::vector<std::size_t> body_widths;  // without its title
  std::vector<bool> right;               // columns of numbers
};

// Returns the places of the named columns, by their names or the ends of these. Errors (kUsage):
// one is no column's.
Result<std::vector<std::size_t>> places_of(const std::vector<std::string>& wanted,
                                           const std::vector<std::string>& names);

// Writes the table line by line, as wide as `style.width` at most (output.h). Errors as
// places_of().
Result<void> write_table(const Table& table, const PrintStyle& style, const Sink& sink);

}  // namespace detol::inline printing

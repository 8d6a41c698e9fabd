#pragma once

// Output: rows as a table, JSON, JSON lines or CSV. Only these functions write data to stdout.
//
// A text cell of the columns `values`, `cross_validation`, `test`, `test_interval`, `params`,
// `probabilities`, `predictions`, `labels`, `tags`, `architecture` and `best_so_far` is JSON. It is
// nested in json and jsonl; csv spreads the first seven over columns (`params.lr`), and so does a
// table. On a terminal a table takes no more columns of text than that has: names lose the parts
// that others do not share, long words are cut, and the last columns are left out, which stderr
// says. `PrintStyle::columns` chooses columns by name, or by its last parts. Numbers that are not
// finite are the words "NaN", "Infinity" and "-Infinity" in every format.

#include <filesystem>
#include <string>
#include <string_view>

#include "knowledge/query.h"
#include "printing/style.h"

namespace detol::inline printing {

// Returns the rows as text: json is an array of objects, a table has one line per row. Errors
// (kUsage): PrintStyle::columns has a name that is no column's.
Result<std::string> render(const Rows& rows, const PrintStyle& style);

// Returns one row as text: json is one object, a table has one line per column.
// REQUIRES: exactly one row. Errors as render().
Result<std::string> render_record(const Rows& record, const PrintStyle& style);

// Write what render() and render_record() would return to stdout, the rows one by one if possible.
// Errors: as those, and kStorage as below.
Result<void> print_rows(const Rows& rows, const PrintStyle& style);
Result<void> print_record(const Rows& record, const PrintStyle& style);

// Writes to stdout. Errors (kStorage): it cannot be written.
Result<void> print_data(const std::string& text);

// Prints an error to stderr, a line per mistake, and on a terminal the line of the file that it is
// about. Returns its exit code.
int print_error(const Error& error);

// Writes a file that the user named: durably, and where it is a link, the file that this leads to.
// What is no regular file, such as a pipe or a device, is written into. Errors (kStorage).
Result<void> write_output(const std::filesystem::path& path, std::string_view bytes);

}  // namespace detol::inline printing

#pragma once

// Output: rows as a table, JSON, JSON lines or CSV. Only these functions write data to stdout.
//
// A text cell of the columns `values`, `cross_validation`, `test`, `test_interval`, `params`,
// `probabilities`, `predictions`, `labels`, `tags`, `architecture` and `best_so_far` is JSON. It is nested
// in json and jsonl; csv spreads the first seven over columns (`params.lr`), and so does a table.
// Numbers that are not finite are the words "NaN", "Infinity" and "-Infinity" in every format.

#include <string>

#include "cli/commands.h"
#include "knowledge/query.h"

namespace detol::inline cli {

// Returns the rows as text: json is an array of objects, a table has one line per row.
std::string render(const Rows& rows, const Globals& globals);

// Returns one row as text: json is one object, a table has one line per column.
// REQUIRES: exactly one row.
std::string render_record(const Rows& record, const Globals& globals);

// Writes what render() would return to stdout, row by row if possible. Errors (kStorage): as below.
Result<void> print_rows(const Rows& rows, const Globals& globals);

// Writes to stdout. Errors (kStorage): it cannot be written.
Result<void> print_data(const std::string& text);

}  // namespace detol::inline cli

#pragma once

// CsvDialect: how a CSV file is written, found by looking at its beginning, because files of
// spreadsheets and archives differ: cells between commas, semicolons, tabs or bars, and numbers
// with a decimal point or a decimal comma.

#include <optional>
#include <string_view>

namespace detol::inline trainer {

struct CsvDialect {
  char separator = ',';
  char decimal = '.';
};

// Returns the dialect in which most of the first 100 lines have the same number of cells; commas
// where none has more than one cell. A decimal comma is found where commas do not separate and
// numbers have a comma, but none has a point. `separator`, if set, is not looked for.
CsvDialect dialect_of(std::string_view head, std::optional<char> separator);

// Returns whether a cell stands for a missing value: empty, ?, NA, N/A, NaN, null, None and the
// other words by which pandas and the UCI archive write one.
bool is_missing(std::string_view cell);

// Returns the text as a number, also nan and inf; nullopt if not all of it is a number.
std::optional<double> number_in(std::string_view text, char decimal = '.');

// Returns whether the text is a number as people write it, with a thousands separator, a percent
// sign or a currency: 1,234 or 56.7% or $9.
bool is_formatted_number(std::string_view text, char decimal);

// DateOrder: which of two numbers between slashes is the day.
enum class DateOrder { kMonthFirst, kDayFirst };

// Returns a date as days since 1970-01-01, with its time as a fraction: 2024-03-01, 2024/03/01,
// 01.03.2024, 3/1/2024, each maybe followed by 12:30, 12:30:15 or 12:30:15.25. nullopt: the text is
// no date.
std::optional<double> days_in(std::string_view text, DateOrder order);

}  // namespace detol::inline trainer

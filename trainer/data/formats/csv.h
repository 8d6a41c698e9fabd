#pragma once

// CsvReader: the records of a CSV file (RFC 4180), one after the other. Cells are separated by
// commas, or another character; "a, ""b""" is quoted text; spaces around a cell are ignored; blank
// lines and a byte order mark are skipped. Every record has as many cells as the first. Where a
// file's dialect is to be found, csv_open.h opens it. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "trainer/data/formats/csv_dialect.h"

namespace detol::inline trainer {

struct CsvCell {
  std::string_view text;  // valid as long as the reader
  int line = 1;           // where the cell begins, counted from 1
  int column = 1;
};

class CsvReader {
 public:
  // Reads the whole file, unpacked if it is a gzip file. Errors (kInput): it cannot be read.
  static Result<CsvReader> open(const std::filesystem::path& path);

  // Reads the bytes of a file, maybe in UTF-16. Errors (kInput): they are not text.
  static Result<CsvReader> of(const std::filesystem::path& path, std::string_view bytes);

  // REQUIRES: UTF-8, or an encoding in which ASCII is itself.
  CsvReader(std::filesystem::path path, std::string_view bytes, char separator = ',');

  // Returns the beginning of the file, to look at. REQUIRES: nothing was read yet.
  std::string_view head() const;

  // Returns what was not read yet.
  std::string_view rest() const { return {bytes_.data() + at_, bytes_.size() - at_}; }

  // Returns what the bytes were converted from; empty: nothing.
  const std::string& remark() const { return remark_; }

  // REQUIRES: nothing was read yet.
  void set_separator(char separator) { separator_ = separator; }
  void skip_line();

  // Moves to the next record; returns false at the end. Errors (kInput, with file:line:column): too
  // few or too many cells, a quote in the wrong place or not closed.
  Result<bool> next();

  std::span<const CsvCell> cells() const { return cells_; }

  // Returns the place of what is read next, as a cell without text.
  CsvCell here() const;

  // Returns the error "<path>:<line>:<column>: <what>", as kInput.
  tl::unexpected<Error> error_at(const CsvCell& cell, std::string_view what) const;

  // Hashes the whole file. REQUIRES: nothing was read yet.
  std::uint64_t fingerprint() const;

 private:
  std::string_view blanks() const { return separator_ == '\t' ? " " : " \t"; }
  std::string_view trimmed(std::string_view text) const;
  bool is_at(char c) const { return at_ < bytes_.size() && bytes_[at_] == c; }
  void skip(std::string_view any_of);
  Result<void> read_cell();
  Result<std::string_view> quoted();
  std::string_view plain();
  std::string_view why_another_width() const;
  bool ends_record();  // at a line's end: skips it, returns true

  std::filesystem::path path_;
  std::string remark_;
  char separator_ = ',';
  std::vector<char> bytes_;     // doubled quotes become single ones in place
  std::size_t at_ = 0;          // the next byte
  std::size_t line_start_ = 0;  // where the current line begins
  int line_ = 1;
  std::optional<std::size_t> width_;  // cells of the first record
  std::vector<CsvCell> cells_;
};

}  // namespace detol::inline trainer

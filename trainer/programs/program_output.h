#pragma once

// ProgramOutput: what a program prints, kept in a file, and searched for metrics line by line. As
// on a terminal, a carriage return begins its line again: of a progress bar only what stands there
// at the end of the line counts. The line that a program ends in needs no newline. Not thread-safe.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/shown_line.h"

namespace detol::inline trainer {

class ProgramOutput {
 public:
  // A metric, and the expression whose first group is its number.
  using Pattern = std::pair<std::string, std::regex>;

  // Appends to the file at `path`, at most 16 MB.
  ProgramOutput(const std::filesystem::path& path, int attempt, std::vector<Pattern> patterns);

  // Reads what is there, at most a megabyte; appends the metrics to the report. Errors (kStorage).
  Result<void> read(int descriptor, const std::filesystem::path& report);

  // Takes a last line without its newline. Of a program that has ended. Errors (kStorage).
  Result<void> end(const std::filesystem::path& report);

  // Returns ": <the last line>", shortened; empty if nothing was printed.
  std::string last_words() const;

  // Says what a pattern found that is not a number, the first time; empty: nothing.
  const std::string& mistake() const { return mistake_; }

 private:
  void log(std::string_view text);
  Result<void> search(const std::string& line, const std::filesystem::path& report);

  std::ofstream file_;
  std::vector<Pattern> patterns_;
  std::size_t logged_ = 0;
  ShownLine line_;
  std::string last_line_;
  std::string mistake_;
};

}  // namespace detol::inline trainer

#pragma once

// ReportLines: the file to which a program appends its reports, a JSON object in each line, read as
// it grows. The file is all that is known of a trial's reports: a later attempt of the trial
// appends to it, and reads from its beginning.
//
//   {"step": 3, "val_loss": 0.41}
//
// `step` (or `epoch`) is a whole number that rises; a program that counts from 0 has its steps
// raised by one; without it, a line belongs to the step after the last one. Every other number
// is a metric, NaN and infinities as any language writes them among them; other values are left
// out. A report counts once the lines of its step have all
// metrics that are wanted. A line of a step that was reported, or of an earlier one, is ignored.

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace detol::inline trainer {

struct StepReport {
  int step = 0;                           // from 1
  std::map<std::string, double> metrics;  // NaN and infinities as they are
};

class ReportLines {
 public:
  // Begins at the file's start; makes the file if it is not there, and ends a line that a killed
  // program left unfinished. Errors (kStorage).
  static Result<ReportLines> open(const std::filesystem::path& path,
                                  std::vector<std::string> wanted);

  // Returns the reports that were added since the last call; none if the program has removed the
  // file. A line without its end waits for it.
  std::vector<StepReport> read();

  // Returns the report of a last line that has no end but is whole. Of a program that has ended.
  std::vector<StepReport> unended();

  // Says, in the file, that a program which was stopped is started with nothing to go on from. Does
  // nothing if no step was reported. Errors (kStorage).
  Result<void> begins_again() const;

  // Returns how many lines without a step have been read.
  std::size_t unnumbered() const { return unnumbered_; }

  // Returns the last step that was reported; 0 before there is one.
  int reported() const { return reported_; }

  // Returns what was wrong with lines, at most a few; empty if nothing was.
  const std::vector<std::string>& mistakes() const { return mistakes_; }

  // Returns why none of the lines so far is a report; empty if there was one, or no line.
  std::string why_none() const;

 private:
  ReportLines(std::filesystem::path path, std::vector<std::string> wanted)
      : path_(std::move(path)), wanted_(std::move(wanted)) {}

  void take(std::string_view line, std::vector<StepReport>& reports);
  bool begin_step(const nlohmann::json& line);
  void take_metric(const std::string& name, const nlohmann::json& value);
  void mistake(std::string what);

  std::filesystem::path path_;
  std::vector<std::string> wanted_;
  std::streamoff read_ = 0;
  std::string rest_;    // a line without its end
  int reported_ = 0;    // the last step
  int complete_ = 0;    // the last step whose lines have all metrics, of this start of the program
  StepReport pending_;  // the lines of a step that lack a metric
  std::size_t unnumbered_ = 0;
  bool counts_from_0_ = false;
  std::size_t lines_ = 0;
  bool has_object_ = false;        // some line was one
  std::vector<std::string> seen_;  // metrics, a few
  std::vector<std::string> mistakes_;
};

// Appends a line as a program does. Errors (kStorage).
Result<void> append_line(const std::filesystem::path& path, std::string_view line);

}  // namespace detol::inline trainer

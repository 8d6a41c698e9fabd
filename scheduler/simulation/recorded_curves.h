#pragma once

// RecordedCurves: what the trials of an earlier study reported, and when. They come from the
// study's events, or from a file of JSON lines, one for each trial:
//
//   {"params": {"lr": 0.01, ...}, "failure": null,
//    "reports": [{"epochs": 0.111, "seconds": 1.25, "work": 1e9, "metrics": {"val_loss": 0.9}}]}

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "knowledge/ledger.h"

namespace detol::inline scheduler {

struct RecordedReport {
  double epochs = 0;
  double seconds = 0;  // on one device, since the report before
  double work = 0;     // cumulative
  std::vector<std::pair<std::string, double>> metrics = {};
};

struct RecordedTrial {
  std::vector<std::pair<std::string, Value>> params;
  std::vector<RecordedReport> reports = {};  // epochs grow
  std::optional<Cause> failure = {};         // after the last report
};

struct RecordedCurves {
  std::vector<RecordedTrial> trials;
  // Seconds of an attempt besides its training: median of (end - start - training).
  double start_s = 0;
};

// Returns how many times as fast as one rank a group of so many is.
using GroupSpeed = std::function<double(int ranks)>;

// Returns the curves of the trials that were trained; a failure of the machine is none.
RecordedCurves curves_of(std::span<const Event> events, const GroupSpeed& speed);

// Errors (kInput) name the file and the line.
Result<RecordedCurves> read_curves(const std::filesystem::path& file);

// Returns the text of such a file.
std::string to_json_lines(const RecordedCurves& curves);

}  // namespace detol::inline scheduler

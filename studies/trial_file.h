#pragma once

// Trial files: trials in a CSV file, in JSON lines or in a JSON array, as other programs write them
// and `db export` does (docs/knowledge-base.md has the format).

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "knowledge/exchange/trial_history.h"
#include "knowledge/query.h"

namespace detol::inline studies {

// The columns of a CSV file that are neither a parameter nor a metric.
inline constexpr std::array<std::string_view, 5> kTrialColumns = {"study", "trial", "state",
                                                                  "epoch", "failure"};

struct TrialFile {
  std::filesystem::path path;
  std::string from;    // the study, if the file names studies; empty: all are one
  std::string metric;  // what an unnamed `value` is
};

// Reads the trials in the order of the file, in every state. Names that the space does not know are
// left out, with a warning. Errors (kInput) begin with file and line; kUsage if the file names
// several studies and `from` is none of them.
Result<std::vector<TrialHistory>> read_trial_file(const TrialFile& file, std::string_view bytes,
                                                  const StudyConfig& config);

// NamedHistories: the trials of a study that is exported.
struct NamedHistories {
  StudyRecord study;
  std::vector<TrialHistory> trials;
};

// Returns the trials as a CSV file's columns and rows: the metrics of the last epoch alone. A name
// that is taken gets the prefix "params." or "values.". With several studies the first column has
// their names.
Rows trial_table(const std::vector<NamedHistories>& studies);

// Returns the trials as a JSON array with one trial per line, curves included.
std::string trials_json(const std::vector<NamedHistories>& studies);

}  // namespace detol::inline studies

#pragma once

// Trials as rows: one query for all lists of trials. Decisions are made on values
// (trial_summary.h).

#include <optional>
#include <string>

#include "studies/open_study.h"

namespace detol::inline studies {

struct TrialFilter {
  std::string state = {};  // COMPLETE, ...
  std::string where = {};  // SQL over the columns of v_trials, metrics and parameters by name
  std::string sort = {};   // one of those names: metrics best first, others smallest first
  std::optional<std::int64_t> top = {};
  bool only_scored = false;                        // at least one report, and not failed
  bool only_feasible = false;                      // no constraint of the study is broken
  std::optional<std::vector<TrialId>> among = {};  // only these
};

// Returns the trials. Columns: trial, state, value, values, params, epochs, best_epoch,
// network_params, flops, device_seconds, algorithm, arch_hash, failure, reason, started, finished.
// Errors (kUsage): --where or --sort that SQLite or this study does not understand.
Result<Rows> trial_rows(Reader& reader, const StudyRecord& study, const TrialFilter& filter);
inline Result<Rows> trial_rows(const OpenStudy& study, const TrialFilter& filter) {
  return trial_rows(*study.reader, study.record, filter);
}

// Return a row's trial, and its cell of a column. REQUIRES: there is that column.
TrialId trial_of(const Rows& trials, std::size_t row);
const Cell& cell(const Rows& rows, std::size_t row, std::string_view column);

}  // namespace detol::inline studies

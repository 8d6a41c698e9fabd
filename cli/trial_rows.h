#pragma once

// Trials as rows: one query for `trials`, `trial`, `best` and `export`.

#include <optional>
#include <string>

#include "encodings/study/study_config.h"
#include "knowledge/query.h"

namespace detol::inline cli {

// OpenStudy is a study opened for reading.
struct OpenStudy {
  std::unique_ptr<Reader> reader;
  StudyRecord record;
};

// Errors: kStorage, or kStudy with a did-you-mean.
Result<OpenStudy> open_study(const std::string& storage, const std::string& study);

struct TrialFilter {
  std::string state = {};  // COMPLETE, ...
  std::string where = {};  // SQL over the columns of v_trials, metrics and parameters by name
  std::string sort = {};   // one of those names; an objective: best first; else smallest first
  std::optional<std::int64_t> top = {};
  bool only_scored = false;  // at least one report, and not failed
};

// Columns: trial, state, value, values, params, epochs, network_params, flops,
// device_seconds, algorithm, arch_hash, failure, reason, started, finished.
// Errors (kUsage): --where or --sort that SQLite or this study does not understand.
Result<Rows> trial_rows(const OpenStudy& study, const TrialFilter& filter);

// kEmpty: what there is to say where the best is asked for and there is none.
tl::unexpected<Error> nothing_reported(const OpenStudy& study);

// The trial of that id, or of "best". Errors: kUsage (no such id), kEmpty (nothing scored).
Result<Rows> one_trial(const OpenStudy& study, const std::string& id_or_best);

// The genome of a row. Errors (kStorage): the study's configuration does not know it.
Result<Genome> genome_of(const StudyConfig& config, const Rows& rows, std::size_t row);

// Inserts the column `architecture` after `params`.
Result<void> add_architecture(const OpenStudy& study, Rows& rows);

// The columns of these names, in their order.
Rows only_columns(const Rows& rows, const std::vector<std::string>& names);

const Cell& cell(const Rows& rows, std::size_t row, std::string_view column);

}  // namespace detol::inline cli

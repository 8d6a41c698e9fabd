#pragma once

// Trials as rows: one query for `trials`, `trial`, `best` and `export`.

#include <optional>
#include <string>

#include "encodings/study/study_config.h"
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
Result<Rows> trial_rows(const OpenStudy& study, const TrialFilter& filter);

// Returns the trials that ended with a score, COMPLETE or PRUNED, in the order of their ids; with
// `among`, of these. Columns: as trial_rows. Errors (kEmpty): there is none; as trial_rows.
Result<Rows> finished_rows(const OpenStudy& study, std::optional<std::vector<TrialId>> among = {});

// Returns a metric of a trial; NaN if the trial has no finite number for it. Errors (kStorage): the
// row is damaged.
Result<double> metric_of(const Rows& trials, std::size_t row, const std::string& metric);

// Returns the error (kEmpty) that no trial has reported a number yet.
tl::unexpected<Error> nothing_reported(const OpenStudy& study);

// Returns the error (kEmpty) that no trial can be the best: none has reported a number, or all
// break a constraint of the study.
tl::unexpected<Error> no_best_trial(const OpenStudy& study);

// Returns the trial of that id, or the best for "best": by a model of all values where that is the
// rule (is_best_by_posterior() of recommended_rows.h), else best_observed(). Errors: kUsage if it
// is neither, kEmpty if there is no such trial.
Result<Rows> one_trial(const OpenStudy& study, const std::string& id_or_best);

// ChosenTrial: the best trial of a study, where it is decided by more than the trials' values.
struct ChosenTrial {
  TrialId trial = 0;
  std::string by;  // "cross-validation": the final choice; "posterior": a model of all values
};

// Returns which trial is the best by more than its value; nullopt where the value decides. All that
// show a best trial beside the best value show this. Errors: kStorage.
Result<std::optional<ChosenTrial>> chosen_trial(const OpenStudy& study);

// Returns the trial with the best value. Errors (kEmpty): there is none.
Result<Rows> best_by_value(const OpenStudy& study);

// Returns the trial of the final choice (final_choice.h), else that with the best value. Errors
// (kEmpty): there is none.
Result<Rows> best_observed(const OpenStudy& study);

// Return a row's trial; a cell as a number, 0 if it is none.
TrialId trial_of(const Rows& trials, std::size_t row);
double real_cell(const Rows& rows, std::size_t row, std::string_view column);

// Returns the trial whose weights that trial began with, if it did.
Result<std::optional<TrialId>> inherited_by(const OpenStudy& study, TrialId trial);

// Returns the genome of a row. Errors: kStorage if it is damaged, or as Space::genome.
Result<Genome> genome_of(const StudyConfig& config, const Rows& rows, std::size_t row);

// Inserts the column `architecture` after `params`.
Result<void> add_architecture(const OpenStudy& study, Rows& rows);

// Returns the columns of these names, in their order.
Rows only_columns(const Rows& rows, const std::vector<std::string>& names);

const Cell& cell(const Rows& rows, std::size_t row, std::string_view column);

}  // namespace detol::inline studies

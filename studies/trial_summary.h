#pragma once

// TrialSummary: a trial as a value, read from the knowledge base and checked once.

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encodings/study/study_config.h"
#include "studies/trial_rows.h"

namespace detol::inline studies {

struct TrialSummary {
  TrialId id = 0;
  TrialState state = TrialState::kWaiting;
  double value = std::numeric_limits<double>::quiet_NaN();  // of the first objective
  // Of the report that the value is of, by name; NaN and infinities as they were reported.
  std::vector<std::pair<std::string, double>> metrics;
  std::vector<std::pair<std::string, Value>> parameters;
  double epochs = 0, best_epoch = 0;  // trained; at the report that the value is of
  double flops = 0;                   // of a sample
  double device_s = 0;
  std::string arch_hash, failure, reason;
};

// Returns the trial of a row of trial_rows(). Errors (kStorage): it is damaged.
Result<TrialSummary> trial_in(const Rows& rows, std::size_t row);

// Returns the trials that trial_rows() returns, in its order. Errors: as trial_rows; kStorage: a
// row is damaged.
Result<std::vector<TrialSummary>> trials_of(Reader& reader, const StudyRecord& study,
                                            const TrialFilter& filter);
inline Result<std::vector<TrialSummary>> trials_of(const OpenStudy& study,
                                                   const TrialFilter& filter) {
  return trials_of(*study.reader, study.record, filter);
}

// Returns the trials that ended with a score, COMPLETE or PRUNED, in the order of their ids; with
// `among`, of these. Errors: kEmpty if there is none; as trials_of.
Result<std::vector<TrialSummary>> finished_trials(const OpenStudy& study,
                                                  std::optional<std::vector<TrialId>> among = {});

// Errors: kEmpty if there is no such trial; as trials_of.
Result<TrialSummary> trial_numbered(const OpenStudy& study, TrialId id);

// Returns a metric of a trial; NaN if it has no finite number for it.
double metric_of(const TrialSummary& trial, std::string_view metric);

// Errors: as Space::genome.
Result<Genome> genome_of(const StudyConfig& config, const TrialSummary& trial);

// Returns the trial whose weights that trial began with, if it did.
Result<std::optional<TrialId>> inherited_by(const OpenStudy& study, TrialId trial);

// Returns the error (kEmpty) that no trial has reported a number yet.
tl::unexpected<Error> nothing_reported(const OpenStudy& study);

// Returns the error (kEmpty) that no trial can be the best: none has reported a number, or all
// break a constraint of the study.
tl::unexpected<Error> no_best_trial(const OpenStudy& study);

}  // namespace detol::inline studies

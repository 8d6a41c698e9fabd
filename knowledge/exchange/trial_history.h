#pragma once

// TrialHistory: a trial as files of other programs have it. A study's events become histories to
// be exported, and histories become events when they are imported.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "encodings/space/trial.h"
#include "knowledge/ledger.h"

namespace detol::inline knowledge {

// EpochMetrics: what a trial reported after an epoch.
struct EpochMetrics {
  int epoch = 0;  // from 1; 0 in a file that does not say: the trial's last one
  std::vector<std::pair<std::string, double>> metrics;
};

struct TrialHistory {
  TrialState state = TrialState::kComplete;
  std::vector<std::pair<std::string, Value>> params;  // the active choices
  std::vector<EpochMetrics> curve;                    // epochs grow
  int best_epoch = 0;                                 // has the final values; 0: the last one
  std::optional<Cause> failure = {};                  // of a FAIL
  double started_s = 0;                               // seconds since 1970; 0: unknown
  double finished_s = 0;
  std::string place = {};  // where a file has it, for messages: "trials.csv:12"
};

// Writes a metric, replacing the one of that name.
void set_metric(EpochMetrics& epoch, const std::string& name, double value);

// Returns the epoch with the final values. REQUIRES: the history has an epoch.
const EpochMetrics& final_epoch(const TrialHistory& history);

// Returns the histories of a study's trials, by number. A trial that took the outcome of an equal
// one has that outcome as its only epoch.
std::vector<TrialHistory> histories_of(std::span<const Event> events,
                                       std::span<const Objective> objectives);

// Returns the events of a trial that was measured elsewhere: of one attempt of the worker "import".
// `asked` has the trial's number, choices and network.
// REQUIRES: the history is over; a complete one has an epoch.
std::vector<Event> events_of(const event::Asked& asked, const TrialHistory& history,
                             std::span<const Objective> objectives);

// Creates a study with all of these events. After an error there is no such study; after a kill
// there may be one without events, which the next call with the same name and configuration
// completes. Errors: as Ledger::open, create_study and append.
Result<void> add_study(const std::filesystem::path& database, const StudyRecord& record,
                       std::span<const Event> events);

}  // namespace detol::inline knowledge

#pragma once

// What changes in a knowledge base while searches write it, for those who show it: cheap where
// little has changed, and without reading the events themselves.

#include <span>
#include <vector>

#include "knowledge/query.h"

namespace detol::inline knowledge {

// StudyProgress: how far a study is. `last` changes with every event.
struct StudyProgress {
  StudyId id = 0;
  std::string name;
  StudyPhase state = StudyPhase::kRunning;
  std::int64_t trials = 0;
  std::int64_t last = 0;            // the number of its last event
  std::optional<double> best = {};  // of the first objective, where it is known at once
  std::string objectives_json;      // as in v_studies
};

// Returns every study, the newest first. Errors (kStorage, kUsage): as Reader::select.
Result<std::vector<StudyProgress>> progress_of_studies(Reader& reader);

// Returns the trials with events after number `last`, ascending. Time: of these events. Errors: as
// Reader::select.
Result<std::vector<TrialId>> changed_trials(Reader& reader, StudyId study, std::int64_t last);

// Returns the attempts of these trials, in the order of their numbers. Columns: trial, worker,
// started (seconds since 1970), seconds (of devices), work (of the trial so far). Errors: as
// Reader::select.
Result<Rows> attempts_of(Reader& reader, StudyId study, std::span<const TrialId> trials);

// Returns the changes of a study's state in order, and what was accounted last. Errors: as
// Reader::select.
Result<std::vector<Event>> state_events(Reader& reader, StudyId study);

}  // namespace detol::inline knowledge

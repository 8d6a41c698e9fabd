#pragma once

// StudySummary: what a list of studies shows of a study's trials. It stands in the study's row of
// `progress` and is written in the transaction of the events, so that listing a thousand studies
// reads no event. `detol db check` compares it with the events.

#include <cstdint>
#include <optional>
#include <span>

#include "knowledge/event.h"
#include "knowledge/study_record.h"

namespace detol::inline knowledge {

struct BestTrial {
  TrialId trial = 0;
  double value = 0;

  bool operator==(const BestTrial&) const = default;
};

struct StudySummary {
  std::int64_t trials = 0;  // that were asked

  // The best trial by the first objective's value at each trial's best report; of equals a COMPLETE
  // one, else the first; nullopt: no trial counts. A trial counts once it has reported a number,
  // unless it failed.
  std::optional<BestTrial> best = {};

  // False: the best trial reported a worse value or failed, or a failed one that had reported
  // runs again, so that
  // only all events together say which is the best. `best` is nullopt then.
  bool is_best_known = true;
};

// EventContext: what the events before one say, for update().
struct EventContext {
  bool had_failed = false;        // a FAIL with reports was the last outcome of the event's trial
  bool is_best_complete = false;  // the best trial is COMPLETE; false where needs_best() is
};

// Returns whether EventContext::is_best_complete decides what update() does.
bool needs_best(const StudySummary& summary, const StudyRecord& study, const Event& event);

// Updates the summary by an event that was added to the study.
void update(StudySummary& summary, const StudyRecord& study, const Event& event,
            const EventContext& context);

// Returns the summary of all events of a study, in their order; its best trial is known.
StudySummary summary_of(const StudyRecord& study, std::span<const Event> events);

// Returns true if the summary says nothing else than `computed`, which summary_of() returned.
bool agrees(const StudySummary& summary, const StudySummary& computed);

}  // namespace detol::inline knowledge

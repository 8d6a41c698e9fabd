#pragma once

// Progress: what a user sees of a running study on stderr: a line every ten seconds at most, or one
// for every event, with the share of the budget used, the running trials, the best so far and the
// estimated time left. live_view.h draws frames instead.

#include <memory>
#include <string>

#include "core/clock.h"
#include "scheduler/monitor/study_monitor.h"
#include "scheduler/observer.h"

namespace detol::inline scheduler {

class Progress : public Observer {
 public:
  Progress(StudyMonitor::Study study, Clock& clock) : monitor_(std::move(study), clock) {}

  // Takes an event from before this run, in the ledger's order. Called before all other functions.
  void recall(const Event& event) { monitor_.recall(event); }

  // Ends the display: gives stderr back and prints a few last lines there. `why` says why the run
  // is over; it may be empty.
  void end(const std::string& why, const StudyState& state);

 protected:
  virtual void give_back() {}
  virtual bool shows_the_best() const { return false; }  // during the whole run

  StudyMonitor monitor_;
};

enum class LinesFor { kTime, kEvents };

std::unique_ptr<Progress> make_progress_lines(const StudyMonitor::Study& study, Clock& clock,
                                              LinesFor lines);

}  // namespace detol::inline scheduler

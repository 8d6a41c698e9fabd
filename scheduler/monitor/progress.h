#pragma once

// Progress: what a person sees of a running study on stderr. Lines: one per event, each with
// the share of the budget used, the running trials, the best so far and the time that is left.
// live_view.h draws a picture instead.

#include <memory>
#include <string>

#include "core/clock.h"
#include "scheduler/monitor/onlooker.h"
#include "scheduler/observer.h"

namespace detol {

class Progress : public Observer {
 public:
  Progress(Onlooker::Study study, Clock& clock) : onlooker_(std::move(study), clock) {}

  // An event of before this run, in the ledger's order. Called before any other.
  void recall(const Event& event) { onlooker_.recall(event); }

  // The run is over, because of `why` if that is not empty: gives stderr back and ends with a
  // few lines there.
  void end(const std::string& why, const Book& book);

 protected:
  virtual void give_back() {}
  virtual bool shows_the_best() const { return false; }  // all the time

  Onlooker onlooker_;
};

std::unique_ptr<Progress> make_progress_lines(const Onlooker::Study& study, Clock& clock);

}  // namespace detol

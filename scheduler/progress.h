#pragma once

// Progress: what a person sees of a running study on stderr. Lines: one per event, each with
// the share of the budget used, the running trials, the best so far and the time that is left.
// live_view.h draws a picture instead.

#include <memory>
#include <string>

#include "core/clock.h"
#include "scheduler/observer.h"
#include "scheduler/onlooker.h"

namespace detol {

class Progress : public Observer {
 public:
  Progress(Onlooker::Study study, Clock& clock) : onlooker_(std::move(study), clock) {}

  // An event of before this run, in the ledger's order. Called before any other.
  void recall(const Event& event) { onlooker_.recall(event); }

  // The run is over: stderr is free for others again.
  virtual void end() {}

  // One line to end with.
  std::string summary(const Book& book) const { return onlooker_.summary(book, book.spent()); }

 protected:
  Onlooker onlooker_;
};

std::unique_ptr<Progress> make_progress_lines(const Onlooker::Study& study, Clock& clock);

}  // namespace detol

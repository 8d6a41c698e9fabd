#pragma once

// Observer: receives the events of a study one by one, each once it is durable.

#include "knowledge/ledger.h"
#include "scheduler/study_state.h"

namespace detol::inline scheduler {

// Standing holds the facts of a running study that change between its events.
struct Standing {
  Spent spent;               // by now; StudyState::spent() is as of the last commit
  bool is_stopping = false;  // a stop was requested
  bool is_alive = true;      // a process runs the study
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Called once, before the first event, with the state after the ledger was replayed.
  virtual void began(const StudyState&) {}

  // Called once per event, with the state after the transaction that holds the event.
  virtual void happened(const Event& event, const StudyState& state) = 0;

  // Called after every iteration of the driver's loop, at least once a second.
  virtual void turned(const StudyState&, const Standing&) {}
};

}  // namespace detol::inline scheduler

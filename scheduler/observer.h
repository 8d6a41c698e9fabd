#pragma once

// Observer: is told of a study event by event, each already durable.

#include "knowledge/ledger.h"
#include "scheduler/study_state.h"

namespace detol::inline scheduler {

// Standing says how a running study stands between its events.
struct Standing {
  Spent spent;               // by now; StudyState::spent() is as of the last commit
  bool is_stopping = false;  // somebody asked for it
  bool is_alive = true;      // somebody runs it
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Once, before the first event: the state that a replayed ledger left.
  virtual void began(const StudyState&) {}

  // `state` is the state after the transaction that holds the event.
  virtual void happened(const Event& event, const StudyState& state) = 0;

  // After every turn of the driver's loop: at least once a second, whatever happens.
  virtual void turned(const StudyState&, const Standing&) {}
};

}  // namespace detol::inline scheduler

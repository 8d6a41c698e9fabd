#pragma once

// Observer: watches a study happen, event by event, each already durable.

#include "knowledge/ledger.h"
#include "scheduler/book.h"

namespace detol {

// How a running study stands, between its events.
struct Standing {
  Spent spent;               // by now; Book::spent() is as of the last commit
  bool is_stopping = false;  // somebody asked for it
  bool is_alive = true;      // somebody runs it
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Once, before the first event: the state that a replayed ledger left.
  virtual void began(const Book&) {}

  // `book` is the state after the transaction that holds the event.
  virtual void happened(const Event& event, const Book& book) = 0;

  // After every turn of the driver's loop: at least once a second, whatever happens.
  virtual void turned(const Book&, const Standing&) {}
};

}  // namespace detol

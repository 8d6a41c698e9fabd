#pragma once

// Observer: watches a study happen, event by event, each already durable.

#include "knowledge/ledger.h"
#include "scheduler/book.h"

namespace detol {

class Observer {
 public:
  virtual ~Observer() = default;

  // `book` is the state after the transaction that holds the event.
  virtual void happened(const Event& event, const Book& book) = 0;
};

}  // namespace detol

#pragma once

// EventWriter: adds events to a study inside the caller's transaction. It leaves out repeats and
// events of older attempts (see ledger.h).

#include <memory>

#include "knowledge/rows_impl.h"
#include "knowledge/sqlite_impl.h"

namespace detol::inline knowledge {

class EventWriter {
 public:
  static Result<EventWriter> make(sqlite3* database);

  // Adds an event, and updates `study`; save() writes the study.
  Result<void> add(Study& study, const Event& event);

  Result<void> create(const Study& study);  // its rows in studies and progress
  Result<void> save(const Study& study);    // its row in progress

 private:
  Result<bool> is_left_out(const StoredEvent& stored);
  Result<bool> insert(const StoredEvent& stored);
  Result<void> insert_params(const StoredEvent& stored, const event::Asked& asked);
  Result<void> insert_metrics(const StoredEvent& stored, const event::Reported& reported);

  sqlite3* database_ = nullptr;
  sqlite::Statement newest_attempt_, last_state_;
  sqlite::Statement add_event_, add_param_, add_metric_;
  sqlite::Statement add_study_, add_progress_, save_progress_;
};

}  // namespace detol::inline knowledge

#pragma once

// EventWriter: adds events to a study inside the caller's transaction. It leaves out repeats and
// events of older attempts (see ledger.h). When a trial ends, it puts its reports into as few rows
// as they fit in (reports.h).

#include <memory>

#include "knowledge/reports.h"
#include "knowledge/rows_impl.h"
#include "knowledge/storage/sqlite.h"

namespace detol::inline knowledge {

class EventWriter {
 public:
  static Result<EventWriter> make(sqlite3* database);

  // Adds an event, and updates `study`; save() writes the study.
  Result<void> add(Study& study, const Event& event);

  Result<void> create(const Study& study);  // its rows in studies and progress
  Result<void> save(const Study& study);    // its row in progress, which need not exist

 private:
  Result<bool> is_left_out(const StoredEvent& stored);
  Result<bool> is_reported(const StoredEvent& stored);
  Result<void> summarise(Study& study, const StoredEvent& stored, const Event& event);
  Result<bool> had_failed(const StoredEvent& stored);
  Result<bool> is_best_complete(const Study& study, const StoredEvent& stored);
  Result<bool> insert(Study& study, const StoredEvent& stored);
  Result<void> erase(Study& study, const StoredEvent& stored);
  Result<void> pack_reports(Study& study, TrialId trial);
  static EventRow fitting(std::span<const NumberedReport> reports,
                          std::span<const std::size_t> sizes);
  Result<std::vector<StoredEvent>> single_reports(StudyId study, TrialId trial);

  sqlite3* database_ = nullptr;
  sqlite::Statement newest_attempt_, last_state_, last_outcome_, last_change_, next_report_;
  sqlite::Statement add_event_, erase_event_, single_reports_;
  sqlite::Statement add_study_, save_progress_;
};

}  // namespace detol::inline knowledge

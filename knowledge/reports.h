#pragma once

// Reports of a trial as rows of the table of events. A row holds the reports of consecutive epochs
// of one attempt: one when it is written; all that fit together once the trial has ended, which
// takes a quarter of the room. Its columns:
//
//   seq, epoch, step   of the last report of the row
//   copy               the number of reports, n
//   payload            {"metrics":{"val_accuracy":[0.5,0.6]},"work":[...],"train_s":[...],
//                      "device_s":...,"gaps":[...]}; n values each; device_s is the sum of train_s;
//                      gaps are the n - 1 differences of the events' numbers, absent for n = 1;
//                      "part": the part of the next epoch of an early report, else absent;
//                      "best": one digit for each report, 1 if it was the best of its trial so far,
//                      absent if all were
//
// Within a row of more than one report every epoch has the same number of steps.

#include <cstdint>
#include <span>
#include <vector>

#include "knowledge/event_json.h"

namespace detol::inline knowledge {

struct NumberedReport {
  std::int64_t seq = 0;
  event::Reported report;
};

// Returns true if `next` may follow `last` in one row.
bool continues(const event::Reported& last, const event::Reported& next);

// Returns the reports as one row. REQUIRES: at least one; each continues the one before.
EventRow row_of(std::span<const NumberedReport> reports);

// Returns the reports of the row with the number `seq`. Errors (kStorage): row_of() never wrote it.
Result<std::vector<NumberedReport>> reports_of(const EventRow& row, std::int64_t seq);

// Returns any event but an Accounted as a row of its own: equal for equal events.
EventRow single_row(const Event& event, std::span<const Objective> objectives);

}  // namespace detol::inline knowledge

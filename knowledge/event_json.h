#pragma once

// Events as rows: the columns that keys and views need, and the event's other fields as JSON.
//
//   kind      trial  attempt  epoch  payload
//   asked     n      0        0      {"params":{"lr":0.1,"op":"conv"},"proposer":"evolution",...},
//                                    where network_params and flops are null if none are known
//   started   n      a        0      {"worker":"w1","at":...}
//   reported  n      a        e      see reports.h
//   told      n      0        0      {"state":"COMPLETE",...,"values":{"val_accuracy":0.9},...}
//   requeued  n      a        0      {"reason":"worker lost"}
//   refit     -1     0        0      {"model":"gp","version":3,"observations":40,...}
//   chosen    -1     0        0      {"key":"cudnn 9.10 ...","way":"engine 1",...}
//   source    -1     0        0      {"study":"a","config":"...","trials":[{"params":...},...]}
//   model     n      0        0      {"model":1,"kind":"retrained",...,"metrics":{...},
//                                    "intervals":{"test_accuracy":[0.97,0.99]},...}
//   state     -1     0        0 {"state":"RUNNING","budget":"1cpu-h","at":...,"backend":"cpu"}
//
// `step` is 0 but for reports; `copy` is their number, and the writer's choice for others.
//
// Numbers round-trip exactly; NaN and infinities are the strings "NaN", "Infinity",
// "-Infinity" ({"float": "NaN"} among params, where a string is a choice's name).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "knowledge/event.h"

namespace detol::inline knowledge {

struct EventRow {
  std::string kind;
  std::int64_t trial = -1;
  int attempt = 0;
  int epoch = 0;
  std::int64_t step = 0;
  std::int64_t copy = 0;
  std::string payload;

  bool operator==(const EventRow&) const = default;
};

// Returns an event as a row. The values of a Told are named by the study's objectives.
// REQUIRES: the event is neither an Accounted, which is stored in the row of `progress`, nor a
// Reported.
EventRow to_row(const Event& event, std::span<const Objective> objectives);

// Returns a row as an event. A Reported is read as versions before 3 wrote it:
// {"metrics":{"val_accuracy":0.9},"work":...,"train_s":...}, its step being its epoch. Errors
// (kStorage): a kind or payload that to_row never writes.
Result<Event> to_event(const EventRow& row);

std::string to_json(std::span<const Objective> objectives);
Result<std::vector<Objective>> objectives_from(std::string_view text);

}  // namespace detol::inline knowledge

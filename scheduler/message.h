#pragma once

// Messages between master and workers, as plain structs, and their form on the wire: one msgpack
// map per message, {"version": 1, "kind": "report", ...}.
//
//   worker -> master   Hello  Heartbeat  Timed  Report  Ended
//   master -> worker   Identify  Setup  Train  Chosen  ReportAck  EndAck  HeartbeatAck  Suspend
//                      Shutdown
//   caller -> master   Call                      master -> caller   Answer
//
// A worker repeats a Report until its ReportAck, an Ended until its EndAck and a Timed until the
// Chosen that answers it, so that the death of a master loses no message; the master drops repeats.
// A ReportAck with Verdict::kStop ends the attempt: no Ended follows, and the next Train may.
// The kinds on the wire are older than the names here (kKinds in message.cpp). Decoding never
// throws: bytes that are no message are an error that says why.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"
#include "encodings/network/task.h"
#include "encodings/space/trial.h"
#include "trainer/reports/algorithm_choices.h"
#include "trainer/reports/evaluation.h"

namespace detol::inline scheduler {

inline constexpr int kProtocolVersion = 12;
inline constexpr std::size_t kMessageLimit = std::size_t{8} << 20;  // bytes

namespace message {

// Hello says which worker this is and what it is doing: sent when the worker starts, again when
// its data is loaded, and whenever a master asks. Of the workers that joined, `id` is the identity
// and `worker` means nothing, here and in their other messages.
struct Hello {
  int worker = 0;
  int start = 0;          // number of this start, from the supervisor; of one that joined, its own
  std::string key = {};   // the run's key
  std::string id = {};    // made by a worker that joined; empty: the supervisor started it
  std::string name = {};  // for people and the ledger: "node7/1234"; empty: "local/<worker>"
  int ranks = 1;
  std::vector<std::string> devices = {};  // shared ones, by rank; empty: each rank has its own
  double memory = 0;                      // bytes for what it trains; 0: unknown
  int previous_status = 0;  // of one that joined: how its process before this start ended; 0: none
  bool ready = false;       // can train
  double ready_s = 0;       // seconds since it became ready
  TrialId trial = 0;
  int attempt = 0;  // 0: no trial
};

struct Heartbeat {
  int worker = 0;
  TrialId trial = 0;
  int attempt = 0;          // 0: no trial
  double quiet_s = 0;       // since the trainer's last step
  double slowest_s = 0;     // the slowest step of this attempt so far
  bool is_leaving = false;  // it takes no more trials, and waits for a Shutdown
};

// Report holds one report. Several that become durable at once are sent one after the other, and
// again until the last one is answered.
struct Report {
  int worker = 0;
  TrialId trial = 0;
  int attempt = 0;
  EpochReport report;
  bool more = false;  // others follow at once: this one is not answered
  double after = 0;   // epochs of the one before in the group, without which it does not count
};

// Timed holds, for each shape, the times that the worker measured and the algorithm that it chose.
struct Timed {
  int worker = 0;
  std::vector<TimedShape> choices;
};

// Ended reports the end of an attempt that no verdict has ended: after its EndAck the worker is
// free again.
struct Ended {
  int worker = 0;
  TrialId trial = 0;
  int attempt = 0;
  enum class Trouble {
    kNone,
    kCrash,                    // an unexpected error, perhaps caused by the trial
    kStorage,                  // the disk refused a write
  } trouble = Trouble::kNone;  // of the infrastructure; `evaluation` then has only a reason
  Evaluation evaluation;
};

// Identify asks an unknown peer for its Hello.
struct Identify {};

// Setup holds what a worker needs before its first trial.
struct Setup {
  std::string config;  // StudyConfig::text
  std::string backend;
  Task task;
  AlgorithmChoices choices = {};  // those that the study has recorded
};

// Chosen holds algorithm choices of the study that are durable. It goes to all workers and answers
// a Timed.
struct Chosen {
  AlgorithmChoices choices;
};

struct Train {
  TrialId trial = 0;
  int attempt = 0;
  std::uint64_t seed = 0;
  double acknowledged = 0;  // epochs
  double undecided = 0;     // Control::undecided
  int micro_batches = 1;
  std::string folder;
  std::vector<std::pair<std::string, Value>> params;
  // The trial whose weights it begins with, in kParentFolder of `folder`; without params: none.
  TrialId parent = 0;
  double parent_epochs = 0;
  std::vector<std::pair<std::string, Value>> parent_params = {};
};

// ReportAck says that the report after so many epochs is durable, and whether training continues.
struct ReportAck {
  TrialId trial = 0;
  int attempt = 0;
  double epochs = 0;
  Verdict verdict = Verdict::kContinue;
  double undecided = 0;  // Control::undecided
};

// EndAck says that the Ended of this attempt is durable.
struct EndAck {
  TrialId trial = 0;
  int attempt = 0;
};

// HeartbeatAck answers every Heartbeat: the master is running.
struct HeartbeatAck {};

// Suspend makes this attempt write a checkpoint at its next step and end: the run is about to stop,
// or the trial has taken too long.
struct Suspend {
  TrialId trial = 0;
  int attempt = 0;
};

// Shutdown makes the worker's processes end themselves: the run is over, or the worker wants to
// leave. It goes to workers that the supervisor cannot end.
struct Shutdown {};

// Call is a call of somebody who asks and tells (scheduler/asking/ask_lines.h); an Answer with its
// number answers it.
struct Call {
  std::string key;  // the run's key
  std::uint64_t number = 0;
  std::string caller;
  std::string line;
};

struct Answer {
  std::uint64_t number = 0;
  std::string line;
};

}  // namespace message

using Message =
    std::variant<message::Hello, message::Heartbeat, message::Report, message::Ended,
                 message::Identify, message::Setup, message::Train, message::ReportAck,
                 message::EndAck, message::HeartbeatAck, message::Suspend, message::Shutdown,
                 message::Timed, message::Chosen, message::Call, message::Answer>;

std::string encode(const Message& message);

// Errors (kInput): not msgpack, another version, an unknown kind, a field that is missing or
// out of range. Memory is bounded by kMessageLimit and a nesting depth of 8.
Result<Message> decode(std::string_view bytes);

}  // namespace detol::inline scheduler

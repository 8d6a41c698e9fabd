#pragma once

// What master and workers say to each other, as plain structs, and its form on the wire: one
// msgpack map per message, {"version": 1, "kind": "report", ...}.
//
//   worker -> master   Hello  Heartbeat  Timed  Report  Ended
//   master -> worker   Who  Welcome  Train  Chosen  Answer  Noted  Beat  Suspend  Leave
//
// A worker repeats a Report until its Answer, an Ended until its Noted and a Timed until it heard
// what was Chosen, so that nothing is lost with a master; the master drops what it already has.
// Decoding never throws: bytes that are no message are an error that says why.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"
#include "encodings/space/trial.h"
#include "trainer/evaluator.h"

namespace detol {

inline constexpr int kProtocolVersion = 3;
inline constexpr std::size_t kMessageLimit = std::size_t{8} << 20;  // bytes

namespace message {

// Who a worker is and what it is doing: first when it starts, again when its data is loaded,
// and whenever a master asks.
struct Hello {
  int worker = 0;
  int start = 0;         // which start of it: what the supervisor said, or its own choice
  std::string key = {};  // of the run, from a worker that nobody here started
  bool ready = false;    // can train
  double ready_s = 0;    // for so long
  TrialId trial = 0;
  int attempt = 0;  // 0: no trial
};

struct Heartbeat {
  int worker = 0;
  TrialId trial = 0;
  int attempt = 0;       // 0: no trial
  double quiet_s = 0;    // since the trainer's last step
  double slowest_s = 0;  // the slowest step of this attempt so far
};

struct Report {
  int worker = 0;
  TrialId trial = 0;
  int attempt = 0;
  EpochReport report;
};

// What the worker timed, and would choose.
struct Timed {
  int worker = 0;
  std::vector<TimedShape> choices;
};

// The worker is free again.
struct Ended {
  int worker = 0;
  TrialId trial = 0;
  int attempt = 0;
  enum class Trouble {
    kNone,
    kCrash,                    // an error that nobody foresaw: perhaps the trial is to blame
    kStorage,                  // the disk refused a write
  } trouble = Trouble::kNone;  // of the infrastructure: `evaluation` has only a reason then
  Evaluation evaluation;
};

// "I do not know you: say Hello."
struct Who {};

// What a worker needs before its first trial.
struct Welcome {
  std::string config;  // StudyConfig::text
  std::string backend;
  Task task;
  AlgorithmChoices choices = {};  // that the study has recorded
};

// What holds in the study for these keys is durable: to all workers, and an answer to the one that
// timed them.
struct Chosen {
  AlgorithmChoices choices;
};

struct Train {
  TrialId trial = 0;
  int attempt = 0;
  std::uint64_t seed = 0;
  int acknowledged = 0;
  int micro_batches = 1;
  std::string folder;
  std::vector<std::pair<std::string, Value>> params;
};

// The report of this epoch is durable; go on like this.
struct Answer {
  TrialId trial = 0;
  int attempt = 0;
  int epoch = 0;
  Verdict verdict = Verdict::kContinue;
};

// The Ended of this attempt is durable.
struct Noted {
  TrialId trial = 0;
  int attempt = 0;
};

// The master lives: it answers every heartbeat.
struct Beat {};

// Checkpoint this attempt at the next step and end it: the run is about to stop.
struct Suspend {
  TrialId trial = 0;
  int attempt = 0;
};

// The run is over: the worker's processes end themselves. To workers that nobody here can end.
struct Leave {};

}  // namespace message

using Message =
    std::variant<message::Hello, message::Heartbeat, message::Report, message::Ended, message::Who,
                 message::Welcome, message::Train, message::Answer, message::Noted, message::Beat,
                 message::Suspend, message::Leave, message::Timed, message::Chosen>;

std::string encode(const Message& message);

// Errors (kInput): not msgpack, another version, an unknown kind, a field that is missing or
// out of range. Memory is bounded by kMessageLimit and a nesting depth of 8.
Result<Message> decode(std::string_view bytes);

}  // namespace detol

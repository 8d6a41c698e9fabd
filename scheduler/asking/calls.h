#pragma once

// What callers say and are answered (callers.h).

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "encodings/space/trial.h"
#include "knowledge/states.h"
#include "scheduler/asking/asked_trial.h"
#include "scheduler/asking/caller_names.h"
#include "trainer/reports/evaluation.h"

namespace detol::inline scheduler {

template <typename T>
using Answer = std::function<void(Result<T>)>;

struct Ask {
  int count = 1;
  std::string caller = std::string(kNoCaller);
  bool waits = false;  // for outcomes of other trials, where the searcher needs them first
  std::optional<Genome> wish = {};  // of one trial: this candidate
};

struct AskAnswer {
  std::vector<AskedTrial> trials;  // fewer than asked for: tell more first
  std::string none = {};           // why there are no more trials in this run; empty: there may be
};

// What a trial reported after a step.
struct StepReport {
  TrialId trial = 0;
  int attempt = 0;  // 0: the current one
  // Negative: the one after the last. Steps rise from 1, or from 0 if a trial's first is 0.
  int step = -1;
  std::vector<Metric> metrics;
};

// What a trial is worth, or why it ended without that.
struct Told {
  struct Failure {
    Cause cause = Cause::kCrashed;
    std::string reason;
  };
  struct Pruned {};    // worth what it reported
  struct Released {};  // it waits for another caller
  TrialId trial = 0;
  int attempt = 0;  // 0: the current one
  std::variant<std::vector<Metric>, Failure, Pruned, Released> outcome;
};

// TellAnswer: what became of a tell.
struct TellAnswer {
  TrialState state = TrialState::kRunning;
  bool is_ignored = false;  // the trial had ended with something else, which stays
};

}  // namespace detol::inline scheduler

#pragma once

// The values that travel between searcher, scheduler, trainer and ledger.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "encodings/space/genome.h"

namespace detol {

using TrialId = std::uint64_t;

// One candidate, numbered by the driver from 0 without gaps.
struct Trial {
  TrialId id = 0;
  Genome genome;
  // Who proposed it: a member of a portfolio, and after a blank what the member says of it ("gp
  // region"). Empty: the searcher.
  std::string proposer = {};
};

enum class Direction { kMinimize, kMaximize };

struct Objective {
  std::string metric;
  Direction direction = Direction::kMinimize;
};

inline Objective minimize(std::string metric) {
  return {std::move(metric), Direction::kMinimize};
}
inline Objective maximize(std::string metric) {
  return {std::move(metric), Direction::kMaximize};
}

// True if `a` is better than `b`; NaN is worse than everything.
inline bool is_better(Direction direction, double a, double b) {
  if (a != a || b != b) return a == a && b != b;
  return direction == Direction::kMinimize ? a < b : a > b;
}

// How far a trial was trained is the pruner's decision, not the searcher's: an
// outcome says what was measured, at which fidelity, and for how much work.
struct Measured {
  std::vector<double> values;  // one per objective, in the study's order
  double fidelity = 0;         // epochs trained
  double work = 0;             // forward FLOPs x images trained; never seconds
  bool stopped_early = false;
};

enum class Cause { kDiverged, kOutOfMemory, kTooLarge, kTimeout, kCrashed, kInvalid };

struct Failed {
  Cause cause = Cause::kCrashed;
  double fidelity = 0;
  double work = 0;
};

using Outcome = std::variant<Measured, Failed>;

// The word of interface.md: diverged, oom, too_large, timeout, crashed, invalid.
std::string_view to_text(Cause cause);

// The cause of that word; nullopt: there is none.
std::optional<Cause> cause_from(std::string_view word);

// Why it failed; nullopt: it did not.
std::optional<Cause> cause_of(const Outcome& outcome);

}  // namespace detol

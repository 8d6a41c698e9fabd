#pragma once

// The values that searcher, scheduler, trainer and ledger exchange.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "encodings/space/genome.h"

namespace detol::inline encoding {

using TrialId = std::uint64_t;

// Trial: one candidate of a study, numbered from 0 without gaps.
struct Trial {
  TrialId id = 0;
  Genome genome;
  // The member of a portfolio that proposed it, and after a blank that member's note ("gp
  // region"). Empty: the searcher is no portfolio.
  std::string proposer = {};
  std::optional<TrialId> parent = {};  // the trial that it was made from by a small change
};

// ParentWeights: the weights of another trial of the study with which one begins.
struct ParentWeights {
  TrialId trial = 0;
  double epochs = 0;  // of its training, when they were chosen
  friend bool operator==(const ParentWeights&, const ParentWeights&) = default;
};

enum class Direction { kMinimize, kMaximize };

// Returns the direction as files and people have it: minimize or maximize.
constexpr std::string_view to_text(Direction direction) {
  return direction == Direction::kMinimize ? "minimize" : "maximize";
}

struct Objective {
  std::string metric;
  Direction direction = Direction::kMinimize;
  // The bound of interest of a front: worse values do not count for its hypervolume.
  std::optional<double> reference = {};
};

inline Objective minimize(std::string metric) {
  return {std::move(metric), Direction::kMinimize};
}
inline Objective maximize(std::string metric) {
  return {std::move(metric), Direction::kMaximize};
}

// Returns a value as a loss, which is better where it is lower, or a loss as a value.
inline double to_loss(Direction direction, double value) {
  return direction == Direction::kMinimize ? value : -value;
}

// True if `a` is better than `b`; NaN is worse than everything.
inline bool is_better(Direction direction, double a, double b) {
  if (a != a || b != b) return a == a && b != b;
  return direction == Direction::kMinimize ? a < b : a > b;
}

// Measured stores the measured values, their fidelity and the work they took: the pruner, not the
// searcher, decides how far a trial is trained.
struct Measured {
  std::vector<double> values;  // one per objective, in the study's order
  double fidelity = 0;         // epochs trained
  double work = 0;             // forward FLOPs x images trained; never seconds
  bool stopped_early = false;
  // One per constraint of the study: by how much its bound is exceeded, as a share of the bound;
  // <= 0: it is kept. Empty: not known.
  std::vector<double> excesses = {};
};

enum class Cause { kDiverged, kOutOfMemory, kTooLarge, kTimeout, kCrashed, kInvalid };

struct Failed {
  Cause cause = Cause::kCrashed;
  double fidelity = 0;
  double work = 0;
};

using Outcome = std::variant<Measured, Failed>;

// Returns the word of databases and messages: diverged, oom, too_large, timeout, crashed, invalid.
std::string_view to_text(Cause cause);

// Returns the cause with that word; nullopt if there is none.
std::optional<Cause> cause_from(std::string_view word);

// Returns why the trial failed; nullopt if it did not.
std::optional<Cause> cause_of(const Outcome& outcome);

}  // namespace detol::inline encoding

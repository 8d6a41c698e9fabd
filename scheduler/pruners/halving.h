#pragma once

// Halving: one bracket of asynchronous successive halving (asha.cpp says how it decides). A trial
// that reaches a rung leaves its value there and pauses. Not thread-safe.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "scheduler/pruners/pruner.h"
#include "scheduler/pruners/rung.h"

namespace detol::inline scheduler {

class Halving {
 public:
  // `rungs` are numbers of epochs, ascending.
  Halving(Direction direction, std::span<const double> rungs, std::int64_t reduction_factor);

  Advice judge(TrialId trial, double epochs, double value);  // as Pruner::judge

  // Returns the trial to promote from the highest rung that has one.
  std::optional<TrialId> promotion() const;
  void withdraw(TrialId trial);  // as Pruner::withdraw

 private:
  struct Paused {
    Rung* rung;
    RungPlace place;
  };

  Direction direction_;
  std::int64_t reduction_factor_;
  std::map<double, Rung> rungs_;  // by epochs; complete after construction
  std::unordered_map<TrialId, Paused> paused_;
};

// Returns where rungs stand: at the early reports, and at min_resource * reduction_factor^k epochs
// below the full length.
std::vector<double> rungs_of(const PrunerSettings& settings, std::int64_t min_resource,
                             std::int64_t reduction_factor);

}  // namespace detol::inline scheduler

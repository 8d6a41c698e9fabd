#pragma once

// Halving: one bracket of asynchronous successive halving (asha.cpp says how it decides). A trial
// that reaches a rung leaves its value there and pauses, unless it is the one to promote. Not
// thread-safe.

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
  Halving(const PrunerSettings& settings, std::span<const double> rungs,
          std::int64_t reduction_factor);

  // As Pruner::judge_all; a trial whose first value is NaN stops, and one that would be promoted
  // next continues.
  Advice judge(TrialId trial, double epochs, std::span<const double> values);

  // As Pruner::undecided: up to the next rung.
  double undecided(double epochs) const;

  // Returns the trial to promote from the highest rung that has one.
  std::optional<TrialId> promotion() const;
  void withdraw(TrialId trial);  // as Pruner::withdraw

 private:
  struct Paused {
    Rung* rung;
    RungPlace place;
  };

  std::vector<Direction> directions_;  // by objective
  std::int64_t reduction_factor_;
  std::map<double, Rung> rungs_;  // by epochs; complete after construction
  std::unordered_map<TrialId, Paused> paused_;
};

// HalvingRule is what the options min_resource and reduction_factor of a pruner say.
struct HalvingRule {
  std::vector<double> rungs;  // epochs, ascending
  std::int64_t reduction_factor = 3;
};

// Reads them. Rungs stand at the early reports, and at min_resource * reduction_factor^k epochs
// below the full length. Errors (kInput): an unknown or impossible option.
Result<HalvingRule> halving_rule(std::string_view pruner, const PrunerSettings& settings);

}  // namespace detol::inline scheduler

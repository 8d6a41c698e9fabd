#pragma once

// The algorithm of Li et al. (2020), "A System for Massively Parallel Hyperparameter Tuning", as
// the paper has it, and problems to compare it with the pruner asha on.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/rng.h"
#include "encodings/space/trial.h"

namespace detol::testing_support {

// One study's parameters and what each of its trials would measure.
struct Problem {
  explicit Problem(std::uint64_t seed) : rng(seed) {
    Rng draw = rng.split(0);
    const auto from = [&](int low, int high) {
      return low + static_cast<int>(draw.below(static_cast<std::uint64_t>(high - low + 1)));
    };
    eta = from(2, 4);
    min_resource = from(1, 3);
    epochs = from(1, 30);
    trials = from(1, 60);
    has_ties = draw.chance(0.5);
    is_maximized = draw.chance(0.5);
  }

  Rng at(TrialId trial, int epoch) const {
    return rng.split(1 + trial).split(static_cast<std::uint64_t>(epoch));
  }
  double loss(TrialId trial, int epoch) const {
    Rng draw = at(trial, epoch);
    if (draw.chance(0.03)) return std::numeric_limits<double>::quiet_NaN();
    const double loss = draw.uniform();
    return has_ties ? std::floor(4 * loss) : loss;
  }
  bool fails(TrialId trial, int epoch) const { return at(trial, epoch).split(1).chance(0.02); }

  Rng rng;
  int eta, min_resource, epochs, trials;
  bool has_ties, is_maximized;
};

struct Job {
  TrialId trial;
  int from;  // epochs that it was trained before
  bool operator==(const Job&) const = default;
};

inline std::string to_text(const std::vector<Job>& jobs) {
  std::string text;
  for (const Job& job : jobs) text += fmt::format(" {}@{}", job.trial, job.from);
  return text;
}

// Li et al. (2020), algorithm 2, with s = 0 and one worker, line by line: slow, but
// easy to check. Rung k is at min_resource * eta^k epochs, and the last at the full length.
class Paper {
 public:
  explicit Paper(const Problem& problem) : problem_(problem) {
    for (int r = problem.min_resource; r < problem.epochs; r *= problem.eta) resource_.push_back(r);
    resource_.push_back(problem.epochs);
    rung_.resize(resource_.size());
    promoted_.resize(resource_.size());
  }

  std::vector<Job> jobs() {
    std::vector<Job> jobs;
    while (const auto job = get_job()) {
      const auto [trial, k] = *job;
      const int from = k == 0 ? 0 : resource_[k - 1];
      jobs.push_back({trial, from});
      if (const auto loss = run_then_return_val_loss(trial, from, resource_[k]))
        rung_[k].push_back({*loss, trial});
    }
    return jobs;
  }

 private:
  struct Result {
    double loss;
    TrialId trial;
  };
  struct RungJob {
    TrialId trial;
    std::size_t k;
  };

  std::optional<RungJob> get_job() {
    for (std::size_t k = resource_.size() - 1; k-- > 0;) {
      for (const Result& candidate :
           top(k, rung_[k].size() / static_cast<unsigned>(problem_.eta))) {
        if (promoted_[k].contains(candidate.trial) || std::isnan(candidate.loss)) continue;
        promoted_[k].insert(candidate.trial);
        return RungJob{candidate.trial, k + 1};
      }
    }
    if (next_ == static_cast<TrialId>(problem_.trials)) return std::nullopt;
    return RungJob{next_++, 0};
  }

  std::vector<Result> top(std::size_t k, std::size_t count) const {
    std::vector<Result> sorted = rung_[k];
    const auto key = [](const Result& r) {
      return std::isnan(r.loss) ? std::numeric_limits<double>::infinity() : r.loss;
    };
    std::ranges::sort(sorted, [&](const Result& a, const Result& b) {
      return key(a) != key(b) ? key(a) < key(b) : a.trial < b.trial;
    });
    sorted.resize(count);
    return sorted;
  }

  // Returns nullopt if the trial failed on its way.
  std::optional<double> run_then_return_val_loss(TrialId trial, int from, int to) const {
    for (int epoch = from + 1; epoch <= to; ++epoch) {
      if (problem_.fails(trial, epoch)) return std::nullopt;
      if (std::isnan(problem_.loss(trial, epoch)) && epoch < to) return std::nullopt;
    }
    return problem_.loss(trial, to);
  }

  const Problem& problem_;
  std::vector<int> resource_;
  std::vector<std::vector<Result>> rung_;
  std::vector<std::set<TrialId>> promoted_;
  TrialId next_ = 0;
};

}  // namespace detol::testing_support

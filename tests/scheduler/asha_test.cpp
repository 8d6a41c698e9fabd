// Whole studies with the pruner asha: every promotion against the paper's own algorithm.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;
using testing_support::MemoryLedger;
using testing_support::Mishap;

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

std::string to_text(const std::vector<Job>& jobs) {
  std::string text;
  for (const Job& job : jobs) text += fmt::format(" {}@{}", job.trial, job.from);
  return text;
}

// Li et al. (2020), algorithm 2, with s = 0 and one worker, as it is printed: slow, and right
// by reading. Rung k is at min_resource * eta^k epochs, and the last at the full length.
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

  // Nothing if the trial failed on its way.
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

void prepare(FakeStudy& study, const Problem& problem) {
  study.epochs = problem.epochs;
  study.budget = fmt::format("{}trials", problem.trials);
  study.config.algorithm.name = "random";
  study.config.pruner = {"asha",
                         {{"min_resource", std::to_string(problem.min_resource)},
                          {"reduction_factor", std::to_string(problem.eta)}}};
  if (problem.is_maximized) study.config.objectives = {maximize("loss")};
  study.pool.loss = [&problem](const message::Train& train, int epoch) {
    const double loss = problem.loss(train.trial, epoch);
    return problem.is_maximized ? -loss : loss;
  };
  study.pool.mishap = [&problem](const message::Train& train, int epoch) {
    return problem.fails(train.trial, epoch) ? Mishap::kDiverge : Mishap::kNone;
  };
}

TEST(AshaStudy, WithOneWorkerTrainsWhatThePapersAlgorithmTrainsInItsOrder) {
  int promotions = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem problem(seed);
    FakeStudy study;
    prepare(study, problem);
    const auto ended = study.run();
    if (!ended && ended.error().code == ErrorCode::kFailures) continue;  // the first ten failed
    ASSERT_TRUE(ended) << ended.error().message;
    std::vector<Job> trained;
    for (const message::Train& train : study.pool.started)
      trained.push_back({train.trial, train.acknowledged});
    EXPECT_EQ(to_text(trained), to_text(Paper(problem).jobs())) << "seed " << seed;
    promotions += static_cast<int>(
        std::ranges::count_if(trained, [](const Job& job) { return job.from > 0; }));
  }
  EXPECT_GT(promotions, 1000);
}

}  // namespace
}  // namespace detol

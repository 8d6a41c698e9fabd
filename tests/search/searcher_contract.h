#pragma once

// The fixture of the contract tests: every searcher on every space of spaces.h.

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "search/searcher.h"
#include "tests/search/spaces.h"

namespace detol::testing_support {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Case {
  SearcherRow row;
  NamedSpace space;
  std::size_t constraints = 0;
};

inline void PrintTo(const Case& c, std::ostream* out) {
  *out << c.row.name << " on " << c.space.name;
}

inline std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const SearcherRow& row : searchers()) {
    for (const auto& space : all_spaces()) cases.push_back({row, space});
  }
  return cases;
}

inline std::vector<Case> constrained_cases() {
  std::vector<Case> cases;
  for (const SearcherRow& row : searchers()) {
    for (const char* space : {"conditional", "steps"})
      cases.push_back({row, {space, space_named(space)}, 2});
  }
  return cases;
}

// A smooth loss of any genome: the squared distance of its active choices from 0.3.
inline double loss_of(const Space& space, const Genome& genome) {
  double loss = 0;
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (!genome.is_active(i)) continue;
    const double offset = space.domains()[i].position_of(genome.codes()[i]) - 0.3;
    loss += offset * offset;
  }
  return loss;
}

// The events of a search in a ledger, in order.
struct Asked {
  Trial trial;
};
struct Told {
  Trial trial;
  Outcome outcome;
};
using Step = std::variant<Asked, Told, Refit>;
using Log = std::vector<Step>;

inline void replay(const Step& step, Searcher& searcher) {
  if (const auto* asked = std::get_if<Asked>(&step)) searcher.expect(asked->trial);
  if (const auto* told = std::get_if<Told>(&step)) searcher.tell(told->trial, told->outcome);
  if (const auto* refit = std::get_if<Refit>(&step)) searcher.absorb(*refit);
}

// JobRunner runs a searcher's jobs, each of them `lateness` asks after it was handed out.
class JobRunner {
 public:
  JobRunner(Searcher& searcher, int lateness) : searcher_(searcher), lateness_(lateness) {}

  void before_ask(Log& log) {
    if (!job_) take();
    while (job_ && age_ >= lateness_) absorb(log);
    ++age_;
  }

  // Runs jobs until no work is due.
  void finish(Log& log) {
    if (!job_) take();
    while (job_) absorb(log);
  }

 private:
  void take() {
    job_ = searcher_.background();
    age_ = 0;
  }
  void absorb(Log& log) {
    Refit refit = (*job_)();
    searcher_.absorb(refit);
    refit.prepared.reset();  // a ledger does not store it
    log.emplace_back(std::move(refit));
    take();
  }

  Searcher& searcher_;
  const int lateness_;
  std::optional<RefitJob> job_;
  int age_ = 0;
};

inline constexpr int kAtOnce = 0;         // jobs run as soon as they are due
inline constexpr int kNobody = -1;        // no one runs the searcher's jobs
inline constexpr TrialId kNext = 10'000;  // above all trials of a busy log

class SearcherContract : public testing::TestWithParam<Case> {
 protected:
  const Space& space() const { return GetParam().space.space; }

  std::unique_ptr<Searcher> make(std::uint64_t seed = 7,
                                 const Objective& objective = minimize("loss")) const {
    return GetParam()
        .row
        .make(space(), {.seed = seed,
                        .objectives = {objective},
                        .options = {},
                        .constraints = GetParam().constraints})
        .value();
  }

  // Each constraint is kept by about half of the trials; neither by those of the least loss.
  Measured measured(const Trial& trial) const {
    const double loss = loss_of(space(), trial.genome);
    Measured measured{.values = {loss}, .fidelity = 1, .work = 1};
    for (std::size_t i = 0; i < GetParam().constraints; ++i)
      measured.excesses.push_back((i == 0 ? 0.2 - loss : std::sin(20 * loss)));
    return measured;
  }

  // Logs a search by eight workers until `tells` outcomes were told: of all kinds, out of
  // order, some of them twice. At the end no job is due, unless `lateness` is kNobody.
  Log busy_log(Searcher& searcher, int tells, int lateness = kAtOnce) const {
    Log log;
    std::vector<Trial> running;
    JobRunner runner(searcher, lateness);
    Rng rng(3);
    for (TrialId next = 0; tells > 0; --tells) {
      while (running.size() < 8) {
        if (lateness != kNobody) runner.before_ask(log);
        running.push_back(searcher.ask(next++, 1).at(0));
        log.emplace_back(Asked{running.back()});
      }
      const auto at = running.begin() + static_cast<std::ptrdiff_t>(rng.below(running.size()));
      log.emplace_back(Told{*at, random_outcome(*at, rng)});
      replay(log.back(), searcher);
      if (rng.chance(0.8)) running.erase(at);  // else it is told again later
    }
    if (lateness != kNobody) runner.finish(log);
    return log;
  }

  Outcome random_outcome(const Trial& trial, Rng& rng) const {
    Measured value = measured(trial);
    value.stopped_early = rng.chance(0.5);
    Outcome outcome = value;
    if (rng.chance(0.1)) outcome = Failed{.cause = Cause::kDiverged};
    if (rng.chance(0.1)) outcome = Measured{.values = {kNaN}};
    return outcome;
  }

  void expect_same_proposals(Searcher& a, Searcher& b) const {
    for (TrialId id = kNext; id < kNext + 20; ++id)
      EXPECT_EQ(a.ask(id, 1).at(0).genome, b.ask(id, 1).at(0).genome) << "trial " << id;
  }

  void expect_same_asked(const Log& a, const Log& b) const {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto *left = std::get_if<Asked>(&a[i]), *right = std::get_if<Asked>(&b[i]);
      ASSERT_EQ(left == nullptr, right == nullptr) << "step " << i;
      if (left == nullptr) continue;
      EXPECT_EQ(left->trial.id, right->trial.id);
      EXPECT_EQ(left->trial.genome, right->trial.genome) << "step " << i;
    }
  }
};

inline std::string name_of(const testing::TestParamInfo<Case>& c) {
  return std::string(c.param.row.name) + "_" + c.param.space.name;
}

}  // namespace detol::testing_support

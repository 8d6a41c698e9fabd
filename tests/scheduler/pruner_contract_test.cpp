// What every pruner must honour. A new row in scheduler/pruner.cpp is tested here with no
// further edit.

#include <cmath>
#include <limits>
#include <map>
#include <ostream>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "scheduler/pruner.h"

namespace detol {

void PrintTo(const PrunerRow& row, std::ostream* out) {
  *out << row.name;
}

namespace {

bool stops(Pruner& pruner, TrialId trial, int epoch, double value) {
  return pruner.judge(trial, epoch, value) != Advice::kGoOn;
}

constexpr int kTrials = 60;
constexpr int kEpochs = 27;

// Noisy curves that fall towards a floor of their own, in a mixed order of trials, as many
// workers would report them. A stopped trial reports no more.
struct Report {
  TrialId trial;
  int epoch;
  double value;
};

double curve(TrialId trial, int epoch) {
  Rng rng = Rng(11).split(trial);
  const double floor = rng.uniform(0.1, 1.0);
  Rng noise = rng.split(static_cast<std::uint64_t>(epoch));
  return floor + 1.0 / epoch + 0.05 * noise.normal();
}

// Drives the pruner over kTrials trials, eight at a time; returns what was reported and
// which of the reports ended a trial.
struct Trace {
  std::vector<Report> reports;
  std::vector<bool> decisions;
};

Trace drive(Pruner& pruner, double sign = 1) {
  Trace run;
  Rng order(5);
  std::vector<Report> running;
  for (TrialId next = 0; next < kTrials || !running.empty();) {
    while (running.size() < 8 && next < kTrials) running.push_back({next++, 0, 0});
    const auto at = running.begin() + static_cast<std::ptrdiff_t>(order.below(running.size()));
    at->epoch += 1;
    at->value = sign * curve(at->trial, at->epoch);
    run.reports.push_back(*at);
    run.decisions.push_back(stops(pruner, at->trial, at->epoch, at->value));
    if (run.decisions.back() || at->epoch == kEpochs) running.erase(at);
  }
  return run;
}

class PrunerContract : public testing::TestWithParam<PrunerRow> {
 protected:
  static std::unique_ptr<Pruner> make(Direction direction = Direction::kMinimize) {
    return GetParam().make({.direction = direction, .max_epochs = kEpochs, .options = {}}).value();
  }
};

TEST_P(PrunerContract, ApplyingTheReportsRebuildsIt) {
  const auto live = make(), resumed = make();
  const Trace run = drive(*live);
  for (std::size_t i = 0; i < run.reports.size(); ++i) {
    const auto& [trial, epoch, value] = run.reports[i];
    EXPECT_EQ(stops(*resumed, trial, epoch, value), run.decisions[i]) << "report " << i;
  }
}

TEST_P(PrunerContract, NeverStopsTheBestValueOfAnEpoch) {
  const auto pruner = make();
  const Trace run = drive(*pruner);
  std::map<int, double> best;
  for (std::size_t i = 0; i < run.reports.size(); ++i) {
    const auto& [trial, epoch, value] = run.reports[i];
    const auto seen = best.try_emplace(epoch, value).first;
    EXPECT_FALSE(run.decisions[i] && value <= seen->second) << "trial " << trial;
    seen->second = std::min(seen->second, value);
  }
}

TEST_P(PrunerContract, NeverStopsATrialAtItsFullLength) {
  const auto pruner = make();
  (void)drive(*pruner);
  EXPECT_FALSE(stops(*pruner, kTrials, kEpochs, 1e9));
}

TEST_P(PrunerContract, NeverStopsALoneTrial) {
  const auto pruner = make();
  for (int epoch = 1; epoch <= kEpochs; ++epoch) EXPECT_FALSE(stops(*pruner, 3, epoch, epoch));
}

TEST_P(PrunerContract, MaximizingIsMinimizingTheNegative) {
  const auto down = make(Direction::kMinimize), up = make(Direction::kMaximize);
  EXPECT_EQ(drive(*down, 1).decisions, drive(*up, -1).decisions);
}

TEST_P(PrunerContract, StopsNaNUnlessItStopsNothing) {
  const auto pruner = make();
  const bool stops_nothing = GetParam().name == "none";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int epoch = 1; epoch <= kEpochs; ++epoch)
    EXPECT_EQ(stops(*pruner, 100 + static_cast<TrialId>(epoch), epoch, nan), !stops_nothing);
}

TEST_P(PrunerContract, ToTheOthersNaNIsTheWorstValueOfAll) {
  const auto with_nan = make(), with_infinity = make();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  Rng rng(4);
  for (TrialId trial = 0; trial < 300; ++trial) {
    const bool diverges = rng.chance(0.3);
    const double value = rng.uniform();
    for (int epoch = 1; epoch <= 3; ++epoch) {
      const bool is_stopped = stops(*with_nan, trial, epoch, diverges ? nan : value);
      const bool expected = stops(*with_infinity, trial, epoch, diverges ? infinity : value);
      EXPECT_TRUE(diverges || is_stopped == expected) << "trial " << trial << " epoch " << epoch;
    }
  }
}

TEST_P(PrunerContract, RefusesAnUnknownOptionByName) {
  const auto pruner = GetParam().make({.max_epochs = kEpochs, .options = {{"min_resorce", "1"}}});
  ASSERT_FALSE(pruner);
  EXPECT_EQ(pruner.error().code, ErrorCode::kInput);
  EXPECT_NE(pruner.error().message.find("min_resorce"), std::string::npos);
}

TEST_P(PrunerContract, IsFoundByItsName) {
  EXPECT_TRUE(make_pruner(GetParam().name, {.max_epochs = kEpochs, .options = {}}));
}

INSTANTIATE_TEST_SUITE_P(All, PrunerContract, testing::ValuesIn(pruners().begin(), pruners().end()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace detol

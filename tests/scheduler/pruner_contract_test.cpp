// The contract that every pruner must honour. A new row in scheduler/pruners/pruners.cpp is tested
// here with no further edit.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "scheduler/pruners/pruner.h"

namespace detol {

void PrintTo(const PrunerRow& row, std::ostream* out) {
  *out << row.name;
}

namespace {

constexpr int kTrials = 60;
constexpr int kEpochs = 27;

// Returns a point of a trial's curve, which is noisy and falls towards a floor of its own.
double curve(TrialId trial, int epoch) {
  Rng rng = Rng(11).split(trial);
  const double floor = rng.uniform(0.1, 1.0);
  Rng noise = rng.split(static_cast<std::uint64_t>(epoch));
  return floor + 1.0 / epoch + 0.05 * noise.normal();
}

// Step records one report and the advice for it, or (epoch 0) a promotion that the pruner named.
struct Step {
  TrialId trial = 0;
  int epoch = 0;
  double value = 0;
  Advice advice = Advice::kContinue;
  bool operator==(const Step&) const = default;
};

struct Running {
  TrialId trial;
  int epoch;
};

// Returns the next job for a free worker, if there is any.
std::optional<Running> next_job(Pruner& pruner, TrialId& next, std::map<TrialId, int>& paused,
                                std::vector<Step>& steps) {
  if (const auto promoted = pruner.promotion()) {
    EXPECT_TRUE(paused.contains(*promoted)) << "trial " << *promoted << " is not paused";
    pruner.withdraw(*promoted);
    steps.push_back({*promoted});
    return Running{*promoted, paused.extract(*promoted).mapped()};
  }
  if (next < kTrials) return Running{next++, 0};
  return std::nullopt;
}

// Drives the pruner over kTrials trials, eight at a time, in a random order, as eight workers
// would. A stopped trial reports no more, a paused one once promoted.
std::vector<Step> drive(Pruner& pruner, double sign = 1) {
  std::vector<Step> steps;
  std::vector<Running> running;
  std::map<TrialId, int> paused;  // and for how many epochs they were trained
  Rng rng(5);
  for (TrialId next = 0;;) {
    while (running.size() < 8) {
      const auto job = next_job(pruner, next, paused, steps);
      if (!job) break;
      running.push_back(*job);
    }
    if (running.empty()) return steps;
    const auto at = running.begin() + static_cast<std::ptrdiff_t>(rng.below(running.size()));
    at->epoch += 1;
    Step step{at->trial, at->epoch, sign * curve(at->trial, at->epoch)};
    step.advice = pruner.judge(step.trial, step.epoch, step.value);
    steps.push_back(step);
    if (step.advice == Advice::kPause) paused[step.trial] = step.epoch;
    if (step.advice != Advice::kContinue || at->epoch == kEpochs) running.erase(at);
  }
}

class PrunerContract : public testing::TestWithParam<PrunerRow> {
 protected:
  static std::unique_ptr<Pruner> make(Direction direction = Direction::kMinimize) {
    return GetParam().make({.direction = direction, .max_epochs = kEpochs, .options = {}}).value();
  }
};

TEST_P(PrunerContract, ApplyingReportsAndPromotionsRebuildsIt) {
  const auto live = make(), resumed = make();
  for (const Step& step : drive(*live)) {
    if (step.epoch == 0) {
      EXPECT_EQ(resumed->promotion(), step.trial);
      resumed->withdraw(step.trial);
    } else {
      EXPECT_EQ(resumed->judge(step.trial, step.epoch, step.value), step.advice);
    }
  }
  EXPECT_EQ(resumed->promotion(), live->promotion());
}

TEST_P(PrunerContract, NeverStopsTheBestValueOfAnEpoch) {
  const auto pruner = make();
  std::map<int, double> best;
  for (const Step& step : drive(*pruner)) {
    if (step.epoch == 0) continue;
    const auto seen = best.try_emplace(step.epoch, step.value).first;
    EXPECT_FALSE(step.advice == Advice::kStop && step.value <= seen->second) << step.trial;
    seen->second = std::min(seen->second, step.value);
  }
}

TEST_P(PrunerContract, LetsATrialEndAtItsFullLength) {
  const auto pruner = make();
  (void)drive(*pruner);
  EXPECT_EQ(pruner->judge(kTrials, kEpochs, 1e9), Advice::kContinue);
}

TEST_P(PrunerContract, NeverStopsALoneTrial) {
  const auto pruner = make();
  for (int epoch = 1; epoch <= kEpochs; ++epoch)
    EXPECT_NE(pruner->judge(3, epoch, epoch), Advice::kStop);
}

TEST_P(PrunerContract, PausesIfItsRowSaysSo) {
  const auto pruner = make();
  const std::vector<Step> steps = drive(*pruner);
  EXPECT_EQ(GetParam().pauses, std::ranges::any_of(steps, [](const Step& step) {
              return step.advice == Advice::kPause;
            }));
}

TEST_P(PrunerContract, DoesNotPromoteATrialThatWasWithdrawn) {
  const auto pruner = make();
  for (TrialId trial = 0; trial < 30; ++trial) (void)pruner->judge(trial, 1, curve(trial, 1));
  while (const auto first = pruner->promotion()) {
    pruner->withdraw(*first);
    pruner->withdraw(*first);
    EXPECT_NE(pruner->promotion(), first);
  }
}

// What another study has trained is reported as a whole, through all rungs, and then ends.
TEST_P(PrunerContract, DoesNotPromoteATrialThatReportedWithoutAPauseAndEnded) {
  const auto pruner = make();
  for (int epoch = 1; epoch <= kEpochs; ++epoch) (void)pruner->judge(0, epoch, 0.01 / epoch);
  pruner->withdraw(0);
  for (TrialId trial = 1; trial < 30; ++trial) {
    for (const int epoch : {1, 3, 9}) (void)pruner->judge(trial, epoch, curve(trial, epoch));
    EXPECT_NE(pruner->promotion(), std::optional<TrialId>(0)) << trial;
  }
}

TEST_P(PrunerContract, MaximizingIsMinimizingTheNegative) {
  const auto down = make(Direction::kMinimize), up = make(Direction::kMaximize);
  std::vector<Step> mirrored = drive(*up, -1);
  for (Step& step : mirrored) step.value = step.epoch == 0 ? 0 : -step.value;
  EXPECT_EQ(drive(*down, 1), mirrored);
}

TEST_P(PrunerContract, StopsNaNUnlessItStopsNothing) {
  const auto pruner = make();
  const Advice expected = GetParam().name == "none" ? Advice::kContinue : Advice::kStop;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int epoch = 1; epoch <= kEpochs; ++epoch)
    EXPECT_EQ(pruner->judge(100 + static_cast<TrialId>(epoch), epoch, nan), expected);
  EXPECT_EQ(pruner->promotion(), std::nullopt);
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
      const Advice advice = with_nan->judge(trial, epoch, diverges ? nan : value);
      const Advice expected = with_infinity->judge(trial, epoch, diverges ? infinity : value);
      EXPECT_TRUE(diverges || advice == expected) << "trial " << trial << " epoch " << epoch;
      EXPECT_EQ(with_nan->promotion(), with_infinity->promotion());
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

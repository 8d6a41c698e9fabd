// The group size of `auto`: what it is learned from, and what follows.

#include "scheduler/run/group_size.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

TEST(GroupSize, LearnsFromAStudysEvents) {
  const std::vector<Event> events = {
      event::Asked{.trial = 3, .params = {{"batch_size", std::int64_t{64}}}},
      event::Started{.trial = 3, .attempt = 1, .worker = "local/0", .group_size = 2},
      event::Reported{.trial = 3, .epoch = 1, .metrics = {}, .work = 10, .train_s = 8},
      event::Reported{.trial = 3, .epoch = 2, .metrics = {}, .work = 20, .train_s = 6},
      event::Reported{.trial = 4, .epoch = 1, .metrics = {}, .work = 0, .train_s = 6},
      event::Started{.trial = 3, .attempt = 2, .worker = "local/0", .group_size = 4},
      event::Reported{.trial = 3, .epoch = 3, .metrics = {}, .work = 30, .train_s = 8}};
  const auto [times, epoch_work, last_ranks] = group_times_of(events);
  ASSERT_EQ(times.size(), 2);  // the epochs of a trial with as many ranks are one time
  EXPECT_EQ(times[0].work, 20);
  EXPECT_EQ(times[0].batch, 64);
  EXPECT_EQ(times[0].ranks, 2);
  EXPECT_EQ(times[0].wall_s, 7);
  EXPECT_EQ(times[1].work, 10);
  EXPECT_EQ(times[1].ranks, 4);
  EXPECT_EQ(times[1].wall_s, 2);
  EXPECT_EQ(epoch_work, 10);
  EXPECT_EQ(last_ranks, 4);
}

// With exponent 0.9, an epoch of work 1e10 takes 2 s on one rank. `largest` was measured, too.
GroupScaling two_seconds(int largest) {
  std::vector<MeasuredTime> times(100, {1e10, 1, 1, 2});
  times.resize(200, {1e10, 1, largest, 2 / std::pow(largest, 0.9)});
  return GroupScaling(times);
}

struct SizeCase {
  const char* name;
  int measured;
  RemainingSearch left;
  int size;
};

TEST(GroupSize, IsTheOneThatGetsFurthest) {
  const SizeCase cases[] = {
      {"no end of trials", 8, {.devices = 16}, 1},
      {"time for many trials", 8, {.devices = 16, .wall_s = 3600, .epoch_work = 1e10}, 1},
      {"no time for three in a row", 8, {.devices = 16, .wall_s = 4, .epoch_work = 1e10}, 2},
      {"no time for one", 8, {.devices = 4, .wall_s = 0.1, .epoch_work = 1e10}, 4},
      {"longer trials", 8, {.devices = 16, .wall_s = 4, .epoch_work = 1e10, .epochs = 2}, 4},
      {"fewer trials than devices", 8, {.devices = 16, .trials = 4}, 4},
      {"as many trials as devices", 8, {.devices = 16, .trials = 16}, 1},
      {"workers that leave devices idle", 8, {.devices = 16, .workers = 4}, 4},
      {"a node that holds less", 8, {.devices = 16, .widest = 2, .trials = 4}, 2},
      {"sizes that nobody has tried", 1, {.devices = 16, .trials = 1}, 2},
  };
  for (const SizeCase& one : cases)
    EXPECT_EQ(best_group_size(two_seconds(one.measured), one.left), one.size) << one.name;
}

// The budget that is left, on all devices at a time.
TEST(GroupSize, FollowsWhatIsLeftOfTheBudget) {
  testing_support::FakeStudy study(4);
  study.budget = "8cpu-s,20trials";
  ASSERT_TRUE(study.run());
  const auto events = study.ledger.events(1).value();
  const Spent spent = study.driver->state().spent();
  const RemainingSearch left =
      remaining_search(study.config, events, parse_budget("48cpu-s,20trials").value(), 4).value();
  EXPECT_EQ(left.trials, 20 - spent.trials);
  EXPECT_DOUBLE_EQ(left.wall_s, (48 - spent.device_s) / 4);
  EXPECT_TRUE(std::isinf(remaining_search(study.config, events, Budget{}, 4)->wall_s));
}

// The ranks of a group of 16 would spend most of their time on waiting for each other.
TEST(GroupSize, NeverWastesHalfOfTheDevices) {
  std::vector<MeasuredTime> times(100, {1e10, 1, 1, 2});
  times.resize(200, {1e10, 1, 8, 2 / std::sqrt(8)});
  const GroupScaling scaling(times);
  const int size = best_group_size(scaling, {.devices = 16, .trials = 1});
  EXPECT_GT(size, 1);
  EXPECT_LE(size, 4);
}

}  // namespace
}  // namespace detol

#include "scheduler/promises.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

// Sums up what each trial but one still needs.
Spent needed_by_others(const std::map<TrialId, Promise>& promises, TrialId trial, double now_s) {
  Spent sum;
  for (const auto& [other, promise] : promises) {
    if (other == trial) continue;
    sum.work += promise.work;
    sum.device_s +=
        std::max(0.0, promise.device_s - (now_s - promise.since_s) * promise.group_size);
  }
  return sum;
}

TEST(Promises, AreTheSumOfWhatEachOtherTrialStillNeedsAtAnyTime) {
  Rng rng(3);
  Promises promises;
  std::map<TrialId, Promise> expected;
  double now_s = 1e6;
  for (int i = 0; i < 5000; ++i) {
    now_s += rng.uniform(0, 2);
    const TrialId trial = rng.below(40);
    if (rng.chance(0.2)) {
      promises.remove(trial);
      expected.erase(trial);
    } else {
      const Promise promise{.work = rng.uniform(0, 1e12),
                            .device_s = rng.chance(0.1) ? 0 : rng.uniform(0, 60),
                            .since_s = now_s,
                            .group_size = 1 + static_cast<int>(rng.below(3))};
      promises.set(trial, promise);
      expected[trial] = promise;
    }
    const TrialId asked = rng.below(40);
    const Spent sum = promises.to_others(asked, now_s);
    const Spent right = needed_by_others(expected, asked, now_s);
    ASSERT_NEAR(sum.device_s, right.device_s, 1e-3) << i;
    ASSERT_NEAR(sum.work, right.work, 1) << i;
  }
}

TEST(Promises, OfNoOtherTrialAreExactlyNothing) {
  Promises promises;
  for (int i = 0; i < 100; ++i) {
    promises.set(1, {.work = 0.1, .device_s = 0.3, .since_s = 0.1 * i});
    promises.set(2, {.work = 0.7, .device_s = 0.1, .since_s = 0.1 * i});
    promises.remove(2);
  }
  EXPECT_EQ(promises.to_others(1, 10).device_s, 0);
  EXPECT_EQ(promises.to_others(1, 10).work, 0);
}

}  // namespace
}  // namespace detol

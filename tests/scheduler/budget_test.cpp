#include "scheduler/budget.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(Budget, ReadsEveryUnit) {
  EXPECT_EQ(parse_budget("90s")->wall_s, 90);
  EXPECT_EQ(parse_budget("10min")->wall_s, 600);
  EXPECT_EQ(parse_budget("2h")->wall_s, 7200);
  EXPECT_EQ(parse_budget("1d")->wall_s, 86400);
  EXPECT_EQ(parse_budget("10cpu-min")->cpu_s, 600);
  EXPECT_EQ(parse_budget("30cpu-s")->cpu_s, 30);
  EXPECT_EQ(parse_budget("500gpu-h")->gpu_s, 1.8e6);
  EXPECT_EQ(parse_budget("2gpu-d")->gpu_s, 172800);
  EXPECT_EQ(parse_budget("200trials")->trials, 200);
  EXPECT_EQ(parse_budget("1trial")->trials, 1);
  EXPECT_EQ(parse_budget("5e15flops")->work, 5e15);
}

TEST(Budget, AddsThePartsOfACompoundDuration) {
  EXPECT_EQ(parse_budget("2d12h")->wall_s, 60 * 3600);
  EXPECT_EQ(parse_budget("1.5h30min")->wall_s, 7200);
  EXPECT_EQ(parse_budget("1cpu-h30cpu-min")->cpu_s, 5400);
}

TEST(Budget, JoinsLimitsWithCommas) {
  const Budget budget = parse_budget("200trials, 2h,10 cpu-h").value();
  EXPECT_EQ(budget.trials, 200);
  EXPECT_EQ(budget.wall_s, 7200);
  EXPECT_EQ(budget.cpu_s, 36000);
  EXPECT_FALSE(budget.gpu_s || budget.work);
}

TEST(Budget, WritesWhatItReadsBack) {
  for (const char* text : {"90s", "2d", "60h", "10cpu-min", "0.3cpu-s", "500gpu-h", "200trials",
                           "5e15flops", "2h,200trials", "1d,3cpu-h,4gpu-h,5trials,6flops"}) {
    const Budget budget = parse_budget(text).value();
    EXPECT_EQ(to_text(budget), text);
    EXPECT_EQ(parse_budget(to_text(budget))->wall_s, budget.wall_s);
  }
}

TEST(Budget, EndsAtTheFirstLimitThatIsReached) {
  const Budget budget = parse_budget("10trials,100s").value();
  EXPECT_DOUBLE_EQ(budget.used({.wall_s = 50, .trials = 2}), 0.5);
  EXPECT_DOUBLE_EQ(budget.used({.wall_s = 20, .trials = 10}), 1.0);
  EXPECT_DOUBLE_EQ(parse_budget("1cpu-min")->used({.wall_s = 1e9, .device_s = 30}), 0.5);
  EXPECT_DOUBLE_EQ(parse_budget("1e6flops")->used({.work = 2e6}), 2.0);
}

TEST(Budget, WithoutALimitNeverEnds) {
  EXPECT_TRUE(Budget{}.is_unlimited());
  EXPECT_EQ(Budget{}.used({.wall_s = 1e9, .device_s = 1e9, .trials = 1e9, .work = 1e30}), 0);
  EXPECT_FALSE(parse_budget("1s")->is_unlimited());
}

Result<Budget> extended(const char* in_force, const char* change) {
  DETOL_ASSIGN(const Budget before, budget_in_force(in_force));
  DETOL_ASSIGN(const auto parsed, parse_budget_change(change));
  return extended(before, parsed.value());
}

TEST(Budget, PlusAddsToTheLimitInForce) {
  const char* in_force = "10cpu-min,20trials";
  EXPECT_EQ(to_text(extended(in_force, "+50cpu-min").value()), "1cpu-h,20trials");
  EXPECT_EQ(to_text(extended(in_force, " +5trials").value()), "10cpu-min,25trials");
  EXPECT_EQ(to_text(extended(in_force, "1h").value()), "1h");
  for (const char* both : {"+50cpu-min,+5trials", "+50cpu-min,5trials", "+ 5trials, +50cpu-min"})
    EXPECT_EQ(to_text(extended(in_force, both).value()), "1cpu-h,25trials") << both;
}

TEST(Budget, AChangeReadsBackAsItIsWritten) {
  EXPECT_EQ(to_text(parse_budget_change("+20trials,+60cpu-min")->value()), "+1cpu-h,20trials");
  EXPECT_EQ(to_text(parse_budget_change("2d12h")->value()), "60h");
  EXPECT_FALSE(parse_budget_change(" ")->has_value());
  EXPECT_FALSE(parse_budget_change("20trials,+1h"));  // is that a total, or more?
}

TEST(Budget, WithoutALimitIsReplacedAndNotAddedTo) {
  EXPECT_TRUE(budget_in_force("")->is_unlimited());
  EXPECT_EQ(to_text(extended("", "1h").value()), "1h");
  EXPECT_FALSE(extended("", "+1h"));
}

TEST(Budget, PlusNeedsALimitToAddTo) {
  const auto error = extended("10cpu-min", "+100gpu-h").error();
  EXPECT_EQ(error.code, ErrorCode::kUsage);
  EXPECT_NE(error.message.find("10cpu-min"), std::string::npos) << error.message;
}

struct Mistake {
  const char* text;
  const char* says;
};

class BadBudget : public testing::TestWithParam<Mistake> {};

TEST_P(BadBudget, IsAUsageErrorInOneLineWithExamples) {
  const auto budget = parse_budget(GetParam().text);
  ASSERT_FALSE(budget) << GetParam().text;
  EXPECT_EQ(budget.error().code, ErrorCode::kUsage);
  const std::string& message = budget.error().message;
  EXPECT_NE(message.find(GetParam().says), std::string::npos) << message;
  EXPECT_NE(message.find("10cpu-min"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadBudget,
    testing::Values(Mistake{"", "does not start with a number"}, Mistake{"+5s", "detol resume"},
                    Mistake{"soon", "does not start with a number"}, Mistake{"-5s", "above 0"},
                    Mistake{"0trials", "above 0"}, Mistake{"12", "unit is missing"},
                    Mistake{"1e999s", "number"}, Mistake{"nantrials", "number"},
                    Mistake{"infs", "number"}, Mistake{"10cpu-mni", "did you mean 'cpu-min'?"},
                    Mistake{"10fortnights", "not a unit"}, Mistake{"1.5trials", "whole"},
                    Mistake{"1h,2h", "given twice"}, Mistake{"1h30cpu-min", "comma"},
                    Mistake{"1h,", "does not start with a number"},
                    Mistake{"2d 12h !", "not a unit"}, Mistake{"10\nmin", "not a unit"}));

TEST(Meters, SayEachLimitInItsOwnUnit) {
  const auto all = meters(parse_budget("10cpu-min,200trials").value(),
                          {.wall_s = 9, .device_s = 90, .trials = 50, .work = 7});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].unit, "cpu-min");
  EXPECT_DOUBLE_EQ(all[0].used, 1.5);
  EXPECT_DOUBLE_EQ(all[0].limit, 10);
  EXPECT_EQ(all[1].unit, "trials");
  EXPECT_DOUBLE_EQ(all[1].used, 50);
  EXPECT_TRUE(meters({}, {}).empty());
}

TEST(TimeLeft, IsThatOfTheLimitThatIsReachedFirst) {
  const Budget budget = parse_budget("1h,100trials").value();
  const auto then = meters(budget, {.wall_s = 600, .trials = 40});
  const auto now = meters(budget, {.wall_s = 700, .trials = 50});
  EXPECT_DOUBLE_EQ(time_left(then, now, 100).value(), 500);  // 50 more trials at 10 s each
}

TEST(TimeLeft, NeedsSomethingToGoBy) {
  const Budget budget = parse_budget("1000trials").value();
  const auto then = meters(budget, {.trials = 5});
  EXPECT_FALSE(time_left(then, then, 1000));                        // nothing happened
  EXPECT_FALSE(time_left(then, meters(budget, {.trials = 6}), 1));  // too early
  EXPECT_TRUE(time_left(then, meters(budget, {.trials = 6}), 20));  // slow, but known
  EXPECT_EQ(time_left(then, meters(budget, {.trials = 1002}), 20).value(), 0);
  EXPECT_FALSE(time_left({}, {}, 20));  // no limit
}

}  // namespace
}  // namespace detol

// The command `best`, by what was measured and by what a model expects, over studies that are
// written into a ledger.

#include <cmath>

#include "tests/cli/command_on_base.h"
#include "tests/studies/noisy_study.h"

namespace detol {
namespace {

class BestCommand : public testing_support::CommandsOn<testing_support::NoisyStudy> {};

TEST_F(BestCommand, IsTheBestMeasuredUnlessAskedForThePosterior) {
  write_study(60);
  EXPECT_EQ(json({"best", "s"})["trial"], kLucky);
  EXPECT_EQ(json({"best", "s", "--by", "observed"})["trial"], kLucky);
  const Json best = json({"best", "s", "--by", "posterior"});
  EXPECT_NE(best["trial"], kLucky);
  const double truth = std::pow(best["params"]["x0"].get<double>(), 2) +
                       std::pow(best["params"]["x1"].get<double>(), 2);
  EXPECT_LT(truth, 9);  // that of the lucky trial is 18
  EXPECT_NEAR(best["posterior_mean"].get<double>(), truth, 7);
  EXPECT_GT(best["posterior_deviation"], 0);
}

TEST_F(BestCommand, OfAStudyThatMeasuresAgainIsByThePosteriorUnlessAskedForTheMeasured) {
  write_study(60, {}, "search: {repeats: 1}\n");
  EXPECT_EQ(json({"best", "s"}), json({"best", "s", "--by", "posterior"}));
  EXPECT_EQ(json({"best", "s", "--by", "observed"})["trial"], kLucky);
}

TEST_F(BestCommand, ListsTheBestByThePosteriorWithItsNumbers) {
  write_study(60);
  const Json rows = json({"best", "s", "--by", "posterior", "--top", "5"});
  ASSERT_EQ(rows.size(), 5u);
  for (std::size_t i = 1; i < rows.size(); ++i)
    EXPECT_LE(rows[i - 1]["posterior_mean"], rows[i]["posterior_mean"]);
  for (const char* format : {"csv", "table"}) {
    const Answer shown = run({"best", "s", "--by", "posterior", "--top", "5", "-f", format});
    EXPECT_NE(shown.out.find("posterior_mean"), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find("posterior_deviation"), std::string::npos) << shown.out;
  }
}

TEST_F(BestCommand, OfFewTrialsIsTheBestMeasured) {
  write_study(4);
  const Json best = json({"best", "s", "--by", "posterior"});
  EXPECT_EQ(best["trial"], kLucky);
  EXPECT_FALSE(best.contains("posterior_mean"));
}

TEST_F(BestCommand, OfSeveralObjectivesSaysWhatToDoInstead) {
  write_study(10, {minimize("other")});
  const Answer shown = run({"best", "s", "--by", "posterior"});
  ASSERT_FALSE(shown.code);
  EXPECT_EQ(shown.code.error().code, ErrorCode::kUsage);
  EXPECT_NE(shown.code.error().message.find("`detol pareto s`"), std::string::npos);
  EXPECT_FALSE(run({"best", "s", "--by", "luck"}).code);
}

}  // namespace
}  // namespace detol

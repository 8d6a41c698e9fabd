// The commands `importance`, `compare` and `similar` over studies that are written into a ledger.

#include "tests/cli/command_on_base.h"
#include "tests/studies/cnn_study.h"

namespace detol {
namespace {

class Analysis : public testing_support::CommandsOn<testing_support::CnnStudy> {};

TEST_F(Analysis, ImportanceListsTheDecisiveChoiceFirst) {
  write_study("s", 40);
  const Json rows = json({"importance", "s"});
  ASSERT_GT(rows.size(), 5u);
  EXPECT_EQ(rows[0]["name"], "optimizer");
  EXPECT_LE(rows[0]["low"], rows[0]["importance"]);
  EXPECT_LE(rows[0]["importance"], rows[0]["high"]);
  EXPECT_EQ(rows[0]["trials"], 40);
  EXPECT_EQ(json({"importance", "s", "--top", "2"}).size(), 2u);
}

TEST_F(Analysis, ComparePutsEveryStudyAgainstTheFirst) {
  write_study("a", 40);
  write_study("b", 20, 0.2);
  write_study("c", 30);
  const Json rows = json({"compare", "a", "b", "c"});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0]["p_better"].is_null());
  EXPECT_TRUE(rows[0]["verdict"].is_null());
  EXPECT_EQ(rows[1]["study"], "b");
  EXPECT_EQ(rows[1]["trials"], 20);
  EXPECT_EQ(rows[1]["best"], rows[1]["best_100"]);
  EXPECT_EQ(rows[1]["p_better"], 1.0);
  EXPECT_EQ(rows[1]["verdict"], "better");
  EXPECT_EQ(rows[2]["verdict"], "undecided");
  EXPECT_EQ(json({"compare", "b", "a"})[1]["verdict"], "worse");
}

TEST_F(Analysis, CompareIsAsSureOfAllStudiesTogetherAsOfOne) {
  for (const char* name : {"a", "b", "c"}) write_study(name, 30);
  const Json alone = json({"compare", "a", "b"})[1], together = json({"compare", "a", "b", "c"})[1];
  EXPECT_EQ(alone["p_better"], together["p_better"]);
  EXPECT_GT(alone["p_low"], together["p_low"]);
  EXPECT_LT(alone["p_high"], together["p_high"]);
}

// Both studies have tried the same candidates.
TEST_F(Analysis, SimilarFindsTheSameNetworkInAnotherStudy) {
  write_study("a", 30);
  write_study("b", 30, 0.2);
  const Json rows = json({"similar", "a", "4", "--top", "60"});
  ASSERT_EQ(rows.size(), 59u);
  EXPECT_LT(rows[0]["distance"], 1e-6);
  EXPECT_NEAR(rows[0]["similarity"].get<double>(), 1, 1e-12);
  bool is_twin_first = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_FALSE(rows[i]["study"] == "a" && rows[i]["trial"] == 4);
    if (i > 0) {
      EXPECT_GE(rows[i]["distance"], rows[i - 1]["distance"]);
    }
    if (rows[i]["distance"] < 1e-6 && rows[i]["study"] == "b" && rows[i]["trial"] == 4)
      is_twin_first = rows[i]["similarity"].get<double>() > 1 - 1e-12;
  }
  EXPECT_TRUE(is_twin_first);
}

TEST_F(Analysis, SimilarSaysThatNothingElseHasAScore) {
  write_study("a", 1);
  const Answer answer = run({"similar", "a", "best"});
  ASSERT_FALSE(answer.code);
  EXPECT_EQ(answer.code.error().code, ErrorCode::kEmpty);
}

TEST_F(Analysis, CompareRefusesWhatItCannotCompare) {
  write_study("a", 12);
  write_study("other", 12, 0, "top5_accuracy");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"compare"}, std::vector<std::string>{"compare", "a"},
        std::vector<std::string>{"compare", "a", "a"},
        std::vector<std::string>{"compare", "a", "other"}}) {
    const Answer answer = run(words);
    ASSERT_FALSE(answer.code);
    EXPECT_EQ(answer.code.error().code, ErrorCode::kUsage) << answer.code.error().message;
  }
  const Answer missing = run({"compare", "a", "b"});
  ASSERT_FALSE(missing.code);
  EXPECT_EQ(missing.code.error().code, ErrorCode::kStudy);
}

TEST_F(Analysis, CompareSaysThatAStudyHasNoScores) {
  write_study("a", 3);
  write_study("empty", 0);
  const Answer answer = run({"compare", "a", "empty"});
  ASSERT_FALSE(answer.code);
  EXPECT_EQ(answer.code.error().code, ErrorCode::kEmpty);
}

}  // namespace
}  // namespace detol

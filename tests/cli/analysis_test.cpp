// The commands `importance`, `compare` and `similar` over studies that are written into a ledger.

#include <limits>

#include "core/rng.h"
#include "encodings/study/study_config.h"
#include "tests/cli/command_on_base.h"

namespace detol {
namespace {

class Analysis : public testing_support::CommandOnBase {
 protected:
  // Writes a study of configs/cnn.yaml whose accuracy depends on the optimizer, plus `bonus`.
  void write_study(const std::string& name, TrialId trials, double bonus = 0,
                   const std::string& metric = "val_accuracy") const {
    const StudyConfig config = read_study_config(DETOL_SOURCE_DIR "/configs/cnn.yaml").value();
    auto ledger = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = name;
    record.config = config.text;
    record.objectives = {maximize(metric)};
    const StudyId study = ledger->create_study(record).value();
    for (TrialId id = 0; id < trials; ++id) {
      Rng rng = Rng(1).split(id);
      const Genome genome = config.space.sample(rng);
      const double accuracy = (genome.text("optimizer") == "sgd" ? 0.6 : 0.5) + bonus +
                              0.001 * static_cast<double>(id % 7);
      append_trial(*ledger, study, id, genome, {{metric, accuracy}, {"val_loss", 1 - accuracy}});
    }
  }
};

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

TEST_F(Analysis, ImportanceOfAnotherMetricMinimisesIt) {
  write_study("s", 40);
  EXPECT_EQ(json({"importance", "s", "--metric", "val_loss"})[0]["name"], "optimizer");
  const Answer unknown = run({"importance", "s", "--metric", "val_los"});
  ASSERT_FALSE(unknown.code);
  EXPECT_EQ(unknown.code.error().code, ErrorCode::kUsage);
  EXPECT_NE(unknown.code.error().message.find("did you mean 'val_loss'?"), std::string::npos);
}

TEST_F(Analysis, ImportanceSaysThatThereAreTooFewTrials) {
  write_study("s", 9);
  const Answer answer = run({"importance", "s"});
  ASSERT_FALSE(answer.code);
  EXPECT_EQ(answer.code.error().code, ErrorCode::kEmpty);
  EXPECT_NE(answer.code.error().message.find("9 finished trials"), std::string::npos);
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

TEST_F(Analysis, SimilarLeavesOutAStudyWhoseConfigurationCannotBeRead) {
  write_study("a", 5);
  StudyRecord record;
  record.name = "newer";
  record.config = "version: 99";
  record.objectives = {maximize("val_accuracy")};
  ASSERT_TRUE(Ledger::open(storage()).value()->create_study(record));
  EXPECT_EQ(json({"similar", "a", "best"}).size(), 4u);
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

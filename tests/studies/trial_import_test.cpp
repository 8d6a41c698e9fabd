#include "studies/trial_import.h"

#include <gtest/gtest.h>

#include "core/file.h"
#include "studies/best_trial.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

class TrialImport : public testing::Test {
 protected:
  TrialImport()
      : config_(load_study_config("version: 1\nstudy: old\nfunction: {name: sphere}\n", "s.yaml")
                    .value()) {}

  // Writes a file of trials, and reads it.
  Result<std::vector<TrialHistory>> read(const std::string& text,
                                         const std::string& metric = {}) const {
    const auto path = folder_.path() / "trials.csv";
    EXPECT_TRUE(write_file_durably(path, text));
    return read_finished({path, {}, metric}, config_);
  }
  Result<void> import(const std::string& text) const {
    DETOL_ASSIGN(auto histories, read(text));
    return import_trials(storage(), config_, {}, std::move(histories));
  }
  std::string storage() const { return (folder_.path() / "detol.db").string(); }

  testing_support::TempFolder folder_;
  const StudyConfig config_;
};

TEST_F(TrialImport, MakesAStudyThatIsDone) {
  ASSERT_TRUE(import("x0,x1,value\n1,2,3\n2,1,0.5\n"));
  const OpenStudy study = open_study(storage(), "old").value();
  EXPECT_EQ(study.record.state, StudyPhase::kDone);
  const TrialSummary best = trial_called(study, "best").value();
  EXPECT_EQ(best.id, 1u);
  EXPECT_EQ(best.value, 0.5);
}

TEST_F(TrialImport, ReadsOnlyTrialsThatAreOver) {
  EXPECT_EQ(read("x0,x1,value,state\n1,2,3,COMPLETE\n1,1,2,RUNNING\n")->size(), 1u);
  EXPECT_EQ(read("x0,x1,value,state\n1,1,2,RUNNING\n").error().code, ErrorCode::kInput);
}

TEST_F(TrialImport, KnowsTheObjectivesAlone) {
  EXPECT_TRUE(read("x0,x1,value\n1,2,3\n", "value"));
  const auto other = read("x0,x1,value\n1,2,3\n", "vlaue");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kUsage);
  EXPECT_NE(other.error().message.find("did you mean 'value'?"), std::string::npos);
}

TEST_F(TrialImport, LeavesNoStudyOfABadRow) {
  for (const char* text : {"x0,x1,value\n1,2,3\n100000,2,3\n", "x0,value\n1,3\n"}) {
    const auto done = import(text);
    ASSERT_FALSE(done) << text;
    EXPECT_EQ(done.error().code, ErrorCode::kInput);
    EXPECT_FALSE(std::filesystem::exists(storage())) << text;
  }
}

}  // namespace
}  // namespace detol

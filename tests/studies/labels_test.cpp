// Tags and notes of a study and its trials.

#include "studies/labels.h"

#include "tests/studies/running_study.h"

namespace detol {
namespace {

class StudyLabels : public testing_support::RunningStudy {
 protected:
  Result<void> change(const LabelChange& labels) const {
    return change_labels(storage(), opened("s").record, labels);
  }
  std::map<LabelTarget, Labels> all() const {
    const OpenStudy study = opened("s");
    return read_labels(*study.reader, study.record).value();
  }
  using Tags = std::set<std::string>;
};

TEST_F(StudyLabels, AreOfTheStudyOrOfATrialAlsoWhileItRuns) {
  ledger_.reset();  // a process has one ledger of a base
  ASSERT_TRUE(change({.target = 1, .tags = {"odd", "keep"}}));
  ASSERT_TRUE(change({.tags = {"mine"}, .note = "of the study"}));
  ASSERT_TRUE(change({.target = 1, .tags = {"odd"}, .removes_tags = true}));
  EXPECT_EQ(all().at(TrialId{1}).tags, Tags{"keep"});
  EXPECT_EQ(all().at(std::nullopt).tags, Tags{"mine"});
  EXPECT_EQ(all().at(std::nullopt).note, "of the study");
}

TEST_F(StudyLabels, StandBesideTheTrialsInTheOrderOfTheRows) {
  ledger_.reset();
  ASSERT_TRUE(change({.target = 3, .note = "three"}));
  ASSERT_TRUE(change({.target = 0, .note = "none"}));
  const OpenStudy study = opened("s");
  const Rows rows = trial_rows(study, {.where = "trial IN (1, 3)"}).value();
  const std::vector<Labels> labels = labels_of(study, rows).value();
  ASSERT_EQ(labels.size(), 2u);
  EXPECT_EQ(labels[0].note, "");
  EXPECT_EQ(labels[1].note, "three");
}

TEST_F(StudyLabels, AreWordsAndTextsThatFit) {
  ledger_.reset();
  for (const std::string tag : {"", "two words", "a,b", "a\nb", "\xff"}) {
    const auto changed = change({.tags = {"good", tag}});
    ASSERT_FALSE(changed) << tag;
    EXPECT_EQ(changed.error().code, ErrorCode::kUsage);
  }
  EXPECT_FALSE(change({.tags = {std::string(101, 'a')}}));
  EXPECT_FALSE(change({.note = "\xff"}));
  EXPECT_FALSE(change({.note = std::string(10'001, 'a')}));
  EXPECT_TRUE(all().empty()) << "nothing of what was refused";
  EXPECT_TRUE(change({.tags = {std::string(100, 'a')}, .note = std::string(10'000, 'a')}));
}

}  // namespace
}  // namespace detol

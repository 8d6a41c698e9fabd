// The models of a study, and the final choice among its trials, as they are recorded.

#include "studies/model_rows.h"

#include <gtest/gtest.h>

#include "studies/final_choice.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

class ModelRows : public testing::Test {
 protected:
  void SetUp() override {
    ledger_ = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = "s";
    record.objectives = {maximize("val_accuracy")};
    id_ = ledger_->create_study(record).value();
  }

  std::string storage() const { return (folder_.path() / "detol.db").string(); }
  OpenStudy study() const { return open_study(storage(), "s").value(); }

  void record(const std::vector<event::Model>& models) {
    const std::vector<Event> events(models.begin(), models.end());
    ASSERT_TRUE(ledger_->append(id_, events));
  }

  // Returns what a trial scored over folds in the choice that began with that model.
  static event::Model folds(std::int64_t number, TrialId trial, double accuracy,
                            std::int64_t first) {
    return {.model = number,
            .trial = trial,
            .kind = ModelKind::kCrossValidated,
            .state = ModelState::kComplete,
            .first = first,
            .metrics = {{"val_accuracy", accuracy}}};
  }

  std::optional<TrialId> chosen(TrialId best) const {
    const OpenStudy open = study();
    const auto models = models_of(open);
    EXPECT_TRUE(models) << models.error().message;
    return models ? final_choice(open, *models, best) : std::nullopt;
  }

  testing_support::TempFolder folder_;
  std::unique_ptr<Ledger> ledger_;
  StudyId id_ = 0;
};

TEST_F(ModelRows, AreReadAsTheyWereRecorded) {
  const event::Model written{.model = 3,
                             .trial = 7,
                             .kind = ModelKind::kPruned,
                             .state = ModelState::kFailed,
                             .failure = "diverged",
                             .reason = "the loss is nan",
                             .seed = -5,
                             .epochs = 4,
                             .trained_on = kOnValidationToo,
                             .began_from = kFromCheckpoint,
                             .first = 2,
                             .metrics = {{"val_accuracy", 0.5}, {"test_accuracy", 0.25}},
                             .intervals = {{"test_accuracy", 0.125, 0.375}},
                             .folder = "models/3",
                             .parent = 1};
  record({written});
  const auto models = models_of(study()).value();
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0].kind, ModelKind::kPruned);
  EXPECT_EQ(models[0].state, ModelState::kFailed);
  EXPECT_EQ(models[0].seed, -5);
  EXPECT_EQ(models[0].trained_on, kOnValidationToo);
  EXPECT_EQ(models[0].parent, 1);
  EXPECT_EQ(values_json(models[0]), R"({"val_accuracy":0.5})");
  EXPECT_EQ(test_json(models[0]), R"({"test_accuracy":0.25})");
  EXPECT_EQ(interval_json(models[0]), R"({"test_accuracy":[0.125,0.375]})");
  EXPECT_EQ(next_number(models), 4);
  EXPECT_EQ(model_called(study(), "3").value().folder, "models/3");
  EXPECT_EQ(model_called(study(), "4").error().code, ErrorCode::kEmpty);
  EXPECT_EQ(model_called(study(), "three").error().code, ErrorCode::kUsage);
}

// A row may be forged; commands read and write below this folder.
TEST_F(ModelRows, WithAFolderOutsideOfTheStudysAreDamaged) {
  for (const char* folder : {"../elsewhere", "/etc", "models/../../x"}) {
    record({{.model = 1, .state = ModelState::kComplete, .folder = folder}});
    const auto models = models_of(study());
    ASSERT_FALSE(models) << folder;
    EXPECT_EQ(models.error().code, ErrorCode::kStorage);
  }
}

TEST_F(ModelRows, OfATrialCountForTheEpochOfItsValueAlone) {
  const std::vector<event::Model> models = {{.model = 1, .trial = 7, .epochs = 4},
                                            {.model = 2, .trial = 8, .epochs = 5}};
  EXPECT_EQ(tested(models, 8, 5), &models[1]);
  EXPECT_EQ(tested(models, 7, 5), nullptr) << "it has been trained further since";
  EXPECT_EQ(tested(models, 9, 4), nullptr);
}

TEST_F(ModelRows, HaveTheFinalChoiceWithTheBestMeanOverFolds) {
  EXPECT_EQ(chosen(1), std::nullopt) << "there was none";
  record({folds(1, 1, 0.8, 1), folds(2, 5, 0.9, 1), folds(3, 6, 0.85, 1)});
  EXPECT_EQ(chosen(1), 5u);
  EXPECT_EQ(chosen(9), std::nullopt) << "a better trial came later";
}

TEST_F(ModelRows, HaveTheLastOfSeveralFinalChoices) {
  record({folds(1, 1, 0.8, 1), folds(2, 5, 0.9, 1), folds(3, 1, 0.7, 3), folds(4, 6, 0.6, 3)});
  EXPECT_EQ(chosen(1), 1u);
  const auto models = models_of(study()).value();
  EXPECT_EQ(cross_validated(models, 5), nullptr) << "it was in an earlier choice";
  EXPECT_EQ(cross_validated(models, 6), &models[3]);
}

TEST_F(ModelRows, WithoutANumberAreChosenLast) {
  record({folds(1, 1, std::numeric_limits<double>::quiet_NaN(), 1), folds(2, 5, 0.1, 1)});
  EXPECT_EQ(chosen(1), 5u);
}

}  // namespace
}  // namespace detol

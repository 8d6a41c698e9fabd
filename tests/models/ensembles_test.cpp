// Ensembles: which networks vote, how much, and what they answer together.

#include "models/ensembles.h"

#include <cmath>

#include "models/model_network.h"
#include "tests/models/linear_study.h"
#include "trainer/ensemble.h"

namespace detol {
namespace {

class LineEnsemble : public testing_support::LinearStudy {
 protected:
  Result<event::Model> make(const EnsembleRequest& request, const StudyData& shared) const {
    ModelRecord record = ModelRecord::open(storage(), "lin").value();
    return make_ensemble(opened("lin"), shared, storage(), request, record);
  }
  event::Model make(const EnsembleRequest& request) const {
    const auto model = make(request, data());
    EXPECT_TRUE(model) << model.error().message;
    return model.value_or(event::Model());
  }
};

// A line that is wrong everywhere has no vote beside one that is right.
TEST_F(LineEnsemble, VotesIfItHelpsTheOthers) {
  write_study({{.slope = -3, .accuracy = 0.9}, {.slope = 3, .offset = -2}});
  EXPECT_EQ(members_text(make({.backend = "cpu"})).value(), "1 x 1");
  EXPECT_EQ(members_text(make({.candidates = 1, .backend = "cpu"})).value(), "0 x 1");
}

TEST_F(LineEnsemble, OfAllDataHasEveryModelThatSawThemWithEqualShares) {
  write_study({{}});
  const double slopes[] = {1, 2, 3};
  for (const double slope : slopes)
    keep_line({.slope = slope}, ModelKind::kRetrained, kOnValidationToo);
  keep_line({.slope = 9}, ModelKind::kRetrained, kOnTraining);
  const event::Model model = make({.is_of_all_data = true, .backend = "cpu"});
  EXPECT_EQ(members_text(model).value(), "model 1 x 0.333, model 2 x 0.333, model 3 x 0.333");
  EXPECT_EQ(model.trained_on, kOnValidationToo);
  EXPECT_EQ(model.began_from, kFromMembers);
  EXPECT_EQ(model.kind, ModelKind::kEnsembled);
  EXPECT_TRUE(metric_of(model, "test_accuracy"));
  const StudyData shared = data();
  const auto network = network_of(opened("lin"), shared, storage(), model);
  ASSERT_TRUE(network) << network.error().message;
  const Range first{0, 1};  // x = -1
  const auto outputs =
      outputs_of({network->candidate.network, best_weights(network->checkpoint), network->shares},
                 *shared.data, first, "cpu")
          .value();
  double yes = 0;
  for (const double slope : slopes) yes += 1 / (1 + std::exp(slope)) / 3;
  EXPECT_NEAR(outputs[0], std::log(yes / (1 - yes)), 1e-5);
}

TEST_F(LineEnsemble, HasAModelThatWasRetrainedOnTheTrainingDataBesideTheTrials) {
  write_study({{.slope = -3}});
  keep_line({.slope = 3, .offset = -2}, ModelKind::kRetrained, kOnTraining);
  keep_line({.slope = 30, .offset = -20}, ModelKind::kRetrained, kOnValidationToo);
  EXPECT_EQ(members_text(make({.backend = "cpu"})).value(), "model 1 x 1");
}

TEST_F(LineEnsemble, SaysWhichModelHasNoVoteForWantOfItsWeights) {
  write_study({{}});
  for (int i = 0; i < 3; ++i) keep_line({}, ModelKind::kRetrained, kOnValidationToo);
  std::filesystem::remove_all(folder() / "detol.db.d/lin/models/2");
  testing::internal::CaptureStderr();
  const event::Model model = make({.is_of_all_data = true, .backend = "cpu"});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("it has no vote: model 2 is not here as it was tested"), std::string::npos)
      << said;
  EXPECT_EQ(members_text(model).value(), "model 1 x 0.5, model 3 x 0.5");
}

TEST_F(LineEnsemble, NeedsNetworksAndDataToChooseBy) {
  write_study({{}});
  EXPECT_EQ(make({.is_of_all_data = true, .backend = "cpu"}, data()).error().code,
            ErrorCode::kEmpty);
  StudyData shared = data();
  shared.data->info.validation = 0;
  EXPECT_EQ(make({.backend = "cpu"}, shared).error().code, ErrorCode::kEmpty);
  std::filesystem::remove_all(trial_folder(0));
  const auto none = make({.backend = "cpu"}, data());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "no trial of study lin has its weights any more");
}

TEST(EnsembleOfARequest, IsOfItsSizeCandidatesAndData) {
  const event::Model made{.kind = ModelKind::kEnsembled,
                          .trained_on = "train",
                          .settings = R"({"size": 8, "candidates": 50})"};
  const auto fits = [&](int size, int candidates, bool is_of_all_data = false) {
    EnsembleRequest request;
    request.size = size;
    request.candidates = candidates;
    request.is_of_all_data = is_of_all_data;
    return is_of_request(made, request);
  };
  EXPECT_TRUE(fits(8, 50));
  EXPECT_FALSE(fits(9, 50));
  EXPECT_FALSE(fits(8, 51));
  EXPECT_FALSE(fits(8, 50, true));
}

TEST(EnsembleMembers, AreReadFromTheSettings) {
  const event::Model model{
      .model = 3,
      .settings =
          R"({"members": [{"trial": 34, "weight": 0.25}, {"trial": 2, "model": 7, "weight": 0.75}]})"};
  const auto members = members_of(model).value();
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].trial, 34u);
  EXPECT_EQ(members[0].model, 0);
  EXPECT_EQ(members[1].model, 7);
  EXPECT_EQ(members[1].weight, 0.75F);
  EXPECT_EQ(members_text(model).value(), "34 x 0.25, model 7 x 0.75");
}

TEST(EnsembleMembers, OfDamagedSettingsAreRefused) {
  for (const char* settings :
       {"", "[]", "{}", R"({"members": 3})", R"({"members": []})", R"({"members": [3]})",
        R"({"members": [{"trial": 1}]})", R"({"members": [{"trial": -1, "weight": 1}]})",
        R"({"members": [{"trial": 1, "weight": "1"}]})"}) {
    const auto members = members_of({.model = 3, .settings = settings});
    ASSERT_FALSE(members) << settings;
    EXPECT_EQ(members.error().code, ErrorCode::kStorage);
    EXPECT_EQ(members.error().message, "model 3 is damaged");
  }
}

}  // namespace
}  // namespace detol

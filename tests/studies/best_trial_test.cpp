// Which trial of a study is the best, by its value, by a model of all values, or by a final choice.

#include "studies/best_trial.h"

#include "studies/final_choice.h"
#include "studies/recommended_trials.h"
#include "tests/studies/noisy_study.h"

namespace detol {
namespace {

constexpr const char* kRepeats = "search: {repeats: 1}\n";

class BestTrial : public testing_support::NoisyStudy {
 protected:
  TrialId best() const { return trial_called(opened("s"), "best").value().id; }
  std::string decided_by() const {
    const auto chosen = chosen_trial(opened("s")).value();
    return chosen ? chosen->by : "value";
  }
};

TEST_F(BestTrial, IsThatOfTheBestValueWhereNothingElseDecides) {
  write_study(60);
  EXPECT_EQ(best(), kLucky);
  EXPECT_EQ(decided_by(), "value");
  EXPECT_EQ(best_by_value(opened("s")).value().id, kLucky);
}

TEST_F(BestTrial, OfAStudyThatMeasuresAgainIsTheFirstThatItsModelRecommends) {
  write_study(60, {}, kRepeats);
  const OpenStudy study = opened("s");
  EXPECT_TRUE(is_best_by_posterior(study).value());
  const auto ranked = recommended_trials(study).value();
  ASSERT_TRUE(ranked);
  EXPECT_EQ(best(), ranked->front().trial.id);
  EXPECT_NE(best(), kLucky);
  EXPECT_EQ(decided_by(), "posterior");
  EXPECT_EQ(best_observed(study).value().id, kLucky);
}

TEST_F(BestTrial, OfAStudyThatMeasuresAgainWithFewTrialsIsThatOfTheBestValue) {
  write_study(4, {}, kRepeats);
  EXPECT_FALSE(recommended_trials(opened("s")).value());
  EXPECT_EQ(best(), kLucky);
  EXPECT_EQ(decided_by(), "value");
}

TEST_F(BestTrial, OfSeveralObjectivesIsByTheFirstAndNoModelRanksThem) {
  write_study(20, {minimize("other")}, kRepeats);
  const OpenStudy study = opened("s");
  EXPECT_FALSE(is_best_by_posterior(study).value());
  EXPECT_EQ(best(), kLucky);
  const auto refused = recommended_trials(study);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_NE(refused.error().message.find("`detol pareto s`"), std::string::npos);
}

TEST_F(BestTrial, IsThatOfAFinalChoiceAlsoInAStudyThatMeasuresAgain) {
  write_study(60, {}, kRepeats);
  choose_lucky();
  EXPECT_FALSE(is_best_by_posterior(opened("s")).value());
  EXPECT_EQ(best(), kLucky);
  EXPECT_EQ(decided_by(), "cross-validation");
}

TEST_F(BestTrial, ObservedIsThatOfTheFinalChoiceWhichMinimisesTheObjective) {
  write_study(10);
  const auto fold = [](std::int64_t number, TrialId trial, double value) {
    return event::Model{.model = number,
                        .trial = trial,
                        .kind = ModelKind::kCrossValidated,
                        .state = ModelState::kComplete,
                        .first = 1,
                        .metrics = {{"value", value}}};
  };
  append(1, {fold(1, kLucky, 18), fold(2, 7, 2), fold(3, 5, 4)});
  EXPECT_EQ(best(), 7u);
  EXPECT_EQ(best_observed(opened("s")).value().id, 7u);
  EXPECT_EQ(best_by_value(opened("s")).value().id, kLucky);
  EXPECT_EQ(trials_called(opened("s"), "best").value().front().id, 7u);
}

TEST_F(BestTrial, IsRecommendedFirstOfAShortlistByMeans) {
  write_study(60);
  const auto ranked = recommended_trials(opened("s")).value();
  ASSERT_TRUE(ranked);
  ASSERT_EQ(ranked->size(), 60u);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_LE((*ranked)[i - 1].mean, (*ranked)[i].mean);
  for (const auto& [trial, mean, deviation] : *ranked) {
    EXPECT_GT(deviation, 0);
    EXPECT_GT(mean, -12) << "what was measured far too well is not believed";
  }
}

TEST_F(BestTrial, IsRecommendedOfFullLengthAndWithinTheConstraintsAlone) {
  write_study(30);
  const StudyConfig config = load_study_config(opened("s").record.config, "s").value();
  const auto ledger = Ledger::open(storage()).value();
  const Genome centre = config.space.at(std::vector<double>{0.5, 0.5});
  append_trial(*ledger, 1, 30, centre, {{"value", -5}, {std::string(kViolationMetric), 0.5}});
  append_trial(*ledger, 1, 31, centre, {{"value", -5}}, TrialState::kPruned);
  const auto ranked = recommended_trials(opened("s")).value();
  EXPECT_EQ(ranked->size(), 30u);
  for (const RecommendedTrial& one : *ranked) EXPECT_LT(one.trial.id, 30u);
}

TEST_F(BestTrial, IsNamedByAWordOrByItsNumber) {
  write_study(5);
  const OpenStudy study = opened("s");
  EXPECT_EQ(trial_called(study, "2").value().id, 2u);
  EXPECT_EQ(trials_called(study, "2").value().size(), 1u);
  EXPECT_EQ(trials_called(study, "pareto").value().front().id, kLucky);
  for (const char* word : {"", "2 ", "0x2", "-1", "Best", "2.0"})
    EXPECT_EQ(trial_called(study, word).error().code, ErrorCode::kUsage) << word;
  EXPECT_EQ(trial_called(study, "5").error().code, ErrorCode::kEmpty);
}

TEST_F(BestTrial, IsMissedWhereNoTrialHasANumber) {
  write_study(0);
  const OpenStudy study = opened("s");
  EXPECT_EQ(best_by_value(study).error().code, ErrorCode::kEmpty);
  EXPECT_EQ(best_observed(study).error().code, ErrorCode::kEmpty);
  EXPECT_EQ(trial_called(study, "best").error().code, ErrorCode::kEmpty);
  EXPECT_FALSE(chosen_trial(study).value());
  EXPECT_NE(no_best_trial(study).value().message.find("that reported a number yet"),
            std::string::npos);
}

TEST_F(BestTrial, IsMissedWhereAllBreakAConstraintAndTheNearestAreNamed) {
  write_study(0);
  const StudyConfig config = load_study_config(opened("s").record.config, "s").value();
  append_trial(*Ledger::open(storage()).value(), 1, 0,
               config.space.at(std::vector<double>{0.5, 0.5}),
               {{"value", 1}, {std::string(kViolationMetric), 0.5}});
  const auto best = best_by_value(opened("s"));
  ASSERT_FALSE(best);
  EXPECT_EQ(best.error().code, ErrorCode::kEmpty);
  EXPECT_NE(best.error().message.find("keeps to its constraints"), std::string::npos);
  EXPECT_NE(best.error().message.find(kViolationMetric), std::string::npos);
}

}  // namespace
}  // namespace detol

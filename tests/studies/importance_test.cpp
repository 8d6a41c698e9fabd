// How much each choice of a study matters.

#include "studies/importance.h"

#include "tests/studies/cnn_study.h"

namespace detol {
namespace {

using Importance = testing_support::CnnStudy;

std::string first_name(const StudyConfig& config, const std::vector<ChoiceImportance>& rows) {
  return config.space.domains()[rows.front().domain].name;
}

StudyConfig config_of(const OpenStudy& study) {
  return load_study_config(study.record.config, study.record.name).value();
}

TEST_F(Importance, OfAnotherMetricIsInTheDirectionOfThatMetric) {
  write_study("s", 40);
  const OpenStudy study = opened("s");
  const StudyConfig config = config_of(study);
  EXPECT_EQ(first_name(config, measure_importance(study, config, "").value()), "optimizer");
  EXPECT_EQ(first_name(config, measure_importance(study, config, "val_loss").value()), "optimizer");
  const auto unknown = measure_importance(study, config, "val_los");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_NE(unknown.error().message.find("did you mean 'val_loss'?"), std::string::npos);
}

TEST_F(Importance, NeedsTenFinishedTrialsWithTheMetric) {
  write_study("s", 9);
  const OpenStudy study = opened("s");
  const auto few = measure_importance(study, config_of(study), "");
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, ErrorCode::kEmpty);
  EXPECT_NE(few.error().message.find("9 finished trials with a val_accuracy"), std::string::npos)
      << few.error().message;
}

TEST_F(Importance, IsOfTheTrialsThatAreNamed) {
  write_study("s", 40);
  const OpenStudy study = opened("s");
  const std::vector<TrialId> some = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const auto rows = measure_importance(study, config_of(study), "", some).value();
  for (const ChoiceImportance& row : rows) EXPECT_LE(row.trials, some.size());
}

// Half of the trials have the metric, of which more is better; the first has not.
TEST_F(Importance, OfAMetricThatSomeTrialsHaveIsOfBeingAmongTheBestOfThem) {
  const StudyConfig config =
      load_study_config("version: 1\nstudy: s\nfunction: {name: sphere}\n", "s.yaml").value();
  const StudyId id = begin(config);
  const auto ledger = Ledger::open(storage()).value();
  for (TrialId trial = 0; trial < 72; ++trial) {
    const auto x0 = static_cast<double>(trial / 2 % 6), x1 = static_cast<double>(trial / 12);
    const double f1 = x0 >= 4 ? 0.9 + 0.001 * x1 : x1 >= 4 ? 0.1 : 0.5;
    std::vector<std::pair<std::string, double>> metrics = {{"value", 1.0}};
    if (trial % 2 == 1) metrics.emplace_back("val_f1", f1);
    append_trial(*ledger, id, trial, config.space.at(std::vector<double>{x0 / 6, x1 / 6}), metrics);
  }
  const auto rows = measure_importance(opened("s"), config, "val_f1");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(first_name(config, *rows), "x0");
  EXPECT_EQ(rows->front().trials, 36u);
}

// x0 decides which trials have the largest values, x1 which have the smallest.
TEST_F(Importance, IsOfBeingAmongTheLargestOfAMaximisedObjective) {
  const auto decisive = [&](const char* name, const char* direction) {
    const StudyConfig config =
        load_study_config(fmt::format("version: 1\nstudy: {}\nfunction: {{name: sphere}}\n"
                                      "objectives: [{{metric: value, direction: {}}}]\n",
                                      name, direction),
                          "s.yaml")
            .value();
    const StudyId id = begin(config);
    const auto ledger = Ledger::open(storage()).value();
    for (TrialId trial = 0; trial < 36; ++trial) {
      const auto x0 = static_cast<double>(trial % 6), x1 = static_cast<double>(trial / 6);
      const Genome genome = config.space.at(std::vector<double>{x0 / 6, x1 / 6});
      const double value = x0 >= 4 ? 10 + 0.1 * x1 : x1 >= 4 ? -10 : 0;
      append_trial(*ledger, id, trial, genome, {{"value", value}});
    }
    return first_name(config, measure_importance(opened(name), config, "").value());
  };
  EXPECT_EQ(decisive("largest", "maximize"), "x0");
  EXPECT_EQ(decisive("smallest", "minimize"), "x1");
}

}  // namespace
}  // namespace detol

// What a model's card says.

#include "models/model_card.h"

#include "models/ensembles.h"
#include "models/model_network.h"
#include "models/test_score.h"
#include "tests/models/linear_study.h"

namespace detol {
namespace {

class ModelCard : public testing_support::LinearStudy {
 protected:
  std::string card_of_trial() const {
    const OpenStudy study = opened("lin");
    const StudyData shared = data();
    const Model model = trained_model(study, shared, storage(), trial(0)).value();
    return model_card(study, shared, model).value();
  }
  std::string card_of(const event::Model& of) const {
    const OpenStudy study = opened("lin");
    const StudyData shared = data();
    auto network = network_of(study, shared, storage(), of).value();
    Model model = exported_model(study, shared, std::move(network)).value();
    model.properties["model"] = std::to_string(of.model);
    return model_card(study, shared, model).value();
  }
  static void expect_says(const std::string& card, std::string_view what) {
    EXPECT_NE(card.find(what), std::string::npos) << what << "\n" << card;
  }
};

TEST_F(ModelCard, SaysWhatTheNetworkIsAndWhereItsDataAreFrom) {
  write_study({{}, {}});
  const std::string card = card_of_trial();
  expect_says(card, "pipeline_tag: tabular-classification\n");
  expect_says(card, "# lin, trial 0\n");
  expect_says(card, "A network for binary of 2 classes: no, yes.\n");
  expect_says(card, "2 layers, 2 numbers.\n");
  expect_says(card, "`" + path("lin.csv") + "`, format csv, fingerprint " +
                        to_hex(info_.fingerprint) +
                        ": 10 samples to train on, 5 to choose by, 5 to test on.\n");
  expect_says(card, "| x | number | 1 |\n");
  expect_says(card, "seed 0, budget 100trials.\n");
  expect_says(card, "All trials (2 COMPLETE) took ");
  expect_says(card, "| lr | ");
  EXPECT_EQ(card, card_of_trial()) << "equal knowledge, equal bytes";
}

TEST_F(ModelCard, HasTestMetricsWithTheirIntervalsOnceTheyAreKnown) {
  write_study({{}});
  expect_says(card_of_trial(), "Its test metrics are not known: `detol test lin --trial 0`.");
  const OpenStudy study = opened("lin");
  const event::Model tested = TestBench(study, storage()).of_trial(trial(0)).value();
  const auto interval = tested.intervals.front();
  const std::string card = card_of_trial();
  expect_says(card, "| val_accuracy | 0.5 | |\n");
  expect_says(card, fmt::format("| test_accuracy | 0.6 | {:.6g} to {:.6g} |\n", interval.low,
                                interval.high));
  EXPECT_EQ(card.find("not known"), std::string::npos);
}

TEST_F(ModelCard, HasNoTestMetricsOfAnEpochThatIsNoMoreTheBest) {
  write_study({{}});
  const OpenStudy study = opened("lin");
  ASSERT_TRUE(TestBench(study, storage()).of_trial(trial(0)));
  report(*Ledger::open(storage()).value(), 0, {.accuracy = 0.8, .best_epoch = 2}, 2);
  expect_says(card_of_trial(), "Its test metrics are not known");
}

TEST_F(ModelCard, OfARetrainedModelSaysHowOthersOfItsCommandVary) {
  write_study({{}});
  event::Model first = keep_line({.accuracy = 0.5}, ModelKind::kRetrained, kOnTraining);
  expect_says(card_of(first), "Retrained: model 1, on train, from ");
  EXPECT_EQ(card_of(first).find("Mean and standard deviation"), std::string::npos);
  event::Model second = keep_line({.accuracy = 0.7}, ModelKind::kRetrained, kOnTraining);
  second.first = first.first;
  append(1, {second});
  keep_line({.accuracy = 0.1}, ModelKind::kRetrained, kOnTraining);
  expect_says(
      card_of(second),
      "Mean and standard deviation of 2 models with other seeds: test_accuracy 0.6 ± 0.14.");
}

TEST_F(ModelCard, OfADerivedModelSaysWhatWasAskedFor) {
  write_study({{}});
  event::Model pruned = keep_line({}, ModelKind::kPruned, kOnTraining);
  pruned.settings = R"({"to":"flops"})";
  append(1, {pruned});
  expect_says(card_of(pruned),
              R"(Pruned: model 1, from trial 0, as asked for by `{"to":"flops"}`.)");
  pruned.parent = 7;
  append(1, {pruned});
  expect_says(card_of(pruned), "Pruned: model 1, from model 7,");
}

TEST_F(ModelCard, OfAnEnsembleNamesItsMembers) {
  write_study({{.slope = 3, .offset = -2}});
  ModelRecord record = ModelRecord::open(storage(), "lin").value();
  const event::Model ensemble =
      make_ensemble(opened("lin"), data(), storage(), {.backend = "cpu"}, record).value();
  expect_says(card_of(ensemble), "An ensemble, model 1: trials and their weights: 0 x 1.");
}

}  // namespace
}  // namespace detol

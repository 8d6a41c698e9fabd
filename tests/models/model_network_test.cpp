// The network of a model with exactly the weights that were tested.

#include "models/model_network.h"

#include <cmath>

#include "export/architecture_text.h"
#include "tests/models/linear_study.h"

namespace detol {
namespace {

class ModelNetwork : public testing_support::LinearStudy {
 protected:
  Result<TrainedNetwork> network(const event::Model& model) const {
    return network_of(opened("lin"), data(), storage(), model);
  }
  void expect_refused(const event::Model& model, ErrorCode code, std::string_view why) const {
    const auto refused = network(model);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, code);
    EXPECT_NE(refused.error().message.find(why), std::string::npos) << refused.error().message;
  }
};

TEST_F(ModelNetwork, HasTheWeightsOfTheModelAndNotOfItsTrial) {
  write_study({{.slope = 1}});
  const event::Model model = keep_line({.slope = 5}, ModelKind::kRetrained, kOnTraining);
  const auto found = network(model);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(best_weights(found->checkpoint)[0].data, std::vector<float>{5});
  EXPECT_EQ(found->best_epoch, 3);
  EXPECT_EQ(found->trial, 0u);
}

TEST_F(ModelNetwork, IsRefusedIfItsCheckpointIsNotWhatWasTested) {
  write_study({{}});
  const event::Model tested = keep_line({.accuracy = 0.75}, ModelKind::kRetrained, kOnTraining);
  event::Model model = tested;
  model.metrics = {{"val_accuracy", 0.75 + 1e-12}};
  expect_refused(model, ErrorCode::kExport, "other metrics than were recorded");
  event::Model other = keep_line({.accuracy = NAN}, ModelKind::kRetrained, kOnTraining);
  EXPECT_TRUE(network(other)) << "it was NaN then, too";
  other.metrics = {{"val_accuracy", 0.75}};
  expect_refused(other, ErrorCode::kExport, "other metrics than were recorded");
  model = tested;
  model.epochs = 4;
  expect_refused(model, ErrorCode::kExport, "model 1 is not here as it was tested");
  model = tested;
  model.architecture = "no network";
  expect_refused(model, ErrorCode::kExport, "model 1 is damaged");
}

TEST_F(ModelNetwork, OfATestedTrialIsThatOfItsBestEpoch) {
  write_study({{.slope = 2}});
  event::Model model{.model = 1, .state = ModelState::kComplete, .epochs = 1};
  EXPECT_EQ(best_weights(network(model).value().checkpoint)[0].data, std::vector<float>{2});
  model.epochs = 2;
  expect_refused(model, ErrorCode::kExport, "trial 0 was trained on");
}

TEST_F(ModelNetwork, IsOfAModelThatIsComplete) {
  write_study({{}});
  event::Model model{.model = 4, .kind = ModelKind::kRetrained, .state = ModelState::kTraining};
  expect_refused(model, ErrorCode::kEmpty, "model 4 of study lin is not trained yet");
  model.state = ModelState::kFailed;
  model.failure = "diverged";
  model.reason = "the loss is NaN";
  expect_refused(model, ErrorCode::kEmpty, "failed: diverged: the loss is NaN");
  model.state = ModelState::kComplete;
  model.kind = ModelKind::kCrossValidated;
  expect_refused(model, ErrorCode::kEmpty, "it has no network of its own");
}

TEST_F(ModelNetwork, OfItsOwnIsReadFromItsTextWithItsWeightsInOrder) {
  write_study({{}});
  NetworkBuilder builder(data().preprocessing.task.input);
  const NodeId hidden = builder.add({.kind = LayerKind::kDense, .channels = 3, .bias = true},
                                    {builder.input()}, "hidden");
  const NodeId out = builder.add({.kind = LayerKind::kDense, .channels = 1}, {hidden}, "out");
  const Network wider = builder.build(out).value();
  const Weights weights = initial_weights(wider, 7);
  const StoredNetwork stored = stored_network(candidate(0), wider, weights).value();
  EXPECT_EQ(stored.candidate.cost.params, 1 * 3 + 3 + 3);
  EXPECT_NE(stored.candidate.arch_hash, candidate(0).arch_hash);
  EXPECT_EQ(architecture_text(stored.candidate.network), stored.architecture);
  ASSERT_EQ(stored.weights.size(), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_EQ(stored.weights[i].data, weights[i].data) << i;
  const OpenStudy study = opened("lin");
  ModelRecord record = ModelRecord::open(storage(), "lin").value();
  event::Model model =
      untrained_model(study, 0, ModelKind::kPruned, stored.candidate, record).value();
  model.architecture = stored.architecture;
  ASSERT_TRUE(keep_model(study, storage(), stored.candidate, stored.weights, model, record));
  const auto read = network(model);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(best_weights(read->checkpoint)[0].data, weights[0].data);
  model.architecture.clear();
  expect_refused(model, ErrorCode::kExport, "another network's");
}

}  // namespace
}  // namespace detol

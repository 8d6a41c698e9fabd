// The contract of every backend, over the table of backends, against the reference in double.

#include <cmath>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "bench/networks.h"
#include "core/table.h"
#include "encodings/study/encodings.h"
#include "tests/trainer/every_layer.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/backends/reference/reference.h"

namespace detol {
namespace {

class LayerOfBackend : public testing::TestWithParam<Case> {};

TEST_P(LayerOfBackend, AgreesWithTheReferenceInDouble) {
  Recipe recipe;
  recipe.batch_size = 5;
  expect_agreement(*GetParam().backend, sandwich(GetParam().sample), recipe);
}

INSTANTIATE_TEST_SUITE_P(Every, LayerOfBackend, testing::ValuesIn(every_backend_and_layer()),
                         [](const auto& tested) {
                           return std::string(tested.param.backend->name) + "_" +
                                  tested.param.sample.name;
                         });

class Backend : public testing::TestWithParam<BackendRow> {};

TEST_P(Backend, AgreesOnCompositesOfEvenAndOddWidths) {
  for (std::int64_t channels : {5, 16, 40}) {
    Recipe recipe;
    recipe.batch_size = 6;
    recipe.label_smoothing = 0.1;
    recipe.weight_decay = 0.01;
    SCOPED_TRACE(channels);
    expect_agreement(GetParam(), composite(channels), recipe);
  }
}

// The layers have more inputs, outputs and images than one block of a matrix product.
// The sigmoid of 0 is not 0: what lies beside the last channels must not reach the weights beside
// those of the next layer, which would answer from the second step on.
TEST_P(Backend, AgreesAfterStepsWithASigmoidOfAFewChannels) {
  NetworkBuilder b({3, 6, 6});
  NodeId x = b.add({.kind = LayerKind::kConv, .channels = 5, .kernel = 3}, {b.input()});
  x = b.add({.kind = LayerKind::kActivation, .activation = Activation::kSigmoid}, {x});
  x = b.add({.kind = LayerKind::kConv, .channels = 7, .kernel = 3}, {x});
  x = b.add({.kind = LayerKind::kConv, .channels = 6, .kernel = 1}, {x});
  x = b.add({.kind = LayerKind::kGlobalAvgPool}, {x});
  const Network network = b.build(b.add({.kind = LayerKind::kDense, .channels = 4}, {x})).value();
  const Recipe recipe{.batch_size = 6};
  Pair pair{make_reference<double>(network, recipe), compiled(GetParam(), network, recipe)};
  const TrainingState start{lived_in_weights(network, 7), {}};
  pair.start(start, 4, 11);
  for (std::int64_t step = 0; step < 4; ++step) {
    const StepSettings settings{.lr = 0.05, .step = step, .seed = 13};
    const double wanted = pair.reference->train_step(settings).loss;
    EXPECT_NEAR(pair.tested->train_step(settings).loss, wanted, 1e-5 * (1 + wanted)) << step;
  }
  EXPECT_LE(apart(pair.tested->state().weights, pair.reference->state().weights, start.weights),
            1e-4);
}

TEST_P(Backend, AgreesOnLargeDenseLayersOfManyImages) {
  NetworkBuilder b({3, 2, 2});
  NodeId x = b.add({.kind = LayerKind::kDense, .channels = 300, .bias = true}, {b.input()});
  x = b.add({.kind = LayerKind::kDense, .channels = 290, .bias = true}, {x});
  const NodeId last = b.add({.kind = LayerKind::kDense, .channels = 10}, {x});
  expect_agreement(GetParam(), b.build(last).value(), Recipe{.batch_size = 140});
}

TEST_P(Backend, AgreesUnderAdamWithEitherDecay) {
  for (const char* optimizer : {"adam", "adamw"}) {
    SCOPED_TRACE(optimizer);
    Recipe recipe;
    recipe.batch_size = 6;
    recipe.optimizer = optimizer;
    recipe.weight_decay = 0.1;
    expect_agreement(GetParam(), composite(8), recipe);
  }
}

TEST_P(Backend, AgreesUnderRmsProp) {
  Recipe recipe;
  recipe.batch_size = 6;
  recipe.optimizer = "rmsprop";
  recipe.epsilon = 1e-3;
  recipe.weight_decay = 0.1;
  expect_agreement(GetParam(), composite(8), recipe);
}

TEST_P(Backend, AgreesUnderLars) {
  for (std::int64_t channels : {5, 16}) {
    Recipe recipe;
    recipe.batch_size = 6;
    recipe.optimizer = "lars";
    recipe.weight_decay = 0.1;
    recipe.trust = 0.5;
    expect_agreement(GetParam(), composite(channels), recipe);
  }
}

TEST_P(Backend, AgreesOnEveryLossWithTargets) {
  for (const char* loss : {"soft_cross_entropy", "binary_cross_entropy", "mse", "mae", "huber"}) {
    Recipe recipe;
    recipe.batch_size = 6;
    recipe.loss = loss;
    recipe.label_smoothing = std::string_view(loss).ends_with("entropy") ? 0.1 : 0;
    SCOPED_TRACE(loss);
    expect_agreement(GetParam(), composite(5), recipe);
  }
}

TEST_P(Backend, AgreesOnClippedGradients) {
  for (double norm : {0.01, 100.0}) {
    Recipe recipe;
    recipe.batch_size = 6;
    recipe.clip_norm = norm;
    expect_agreement(GetParam(), composite(5), recipe);
  }
}

TEST_P(Backend, AgreesOnTheAveragedWeightsAndWhatTheyScore) {
  Recipe recipe;
  recipe.batch_size = 6;
  recipe.ema = 0.5;
  const Network network = composite(5);
  Pair pair{make_reference<double>(network, recipe), compiled(GetParam(), network, recipe)};
  const TrainingState start{lived_in_weights(network, 7), {}};
  pair.start(start, 4, 11);
  for (std::int64_t step = 0; step < 3; ++step) {
    pair.reference->train_step({.lr = 0.05, .step = step});
    pair.tested->train_step({.lr = 0.05, .step = step});
  }
  EXPECT_LE(apart(pair.tested->state().average, pair.reference->state().average, start.weights),
            1e-4);
  pair.tested->set_state(pair.reference->state());
  EXPECT_NEAR(pair.tested->evaluate(6).loss, pair.reference->evaluate(6).loss, 1e-5);
}

TEST_P(Backend, AgreesOnOneImage) {
  Recipe recipe;
  recipe.batch_size = 2;
  expect_agreement(GetParam(), composite(8, {1, 9, 7}), recipe);
}

TEST_P(Backend, AgreesOnAChainOverSequencesAndOnOneOverTables) {
  Recipe recipe;
  recipe.batch_size = 6;
  const EncodingRow* chain = find_row(encodings(), "chain");
  const auto over_sequences = nlohmann::json::parse(R"({"stem": {"channels": 20, "kernel": 5},
      "stages": [{"block": {"op": "conv", "kernel": 7, "dilation": 2}},
                 {"block": {"op": "mbconv", "se": true}}, {"block": {"op": "residual"}},
                 {"block": {"op": "separable_conv", "kernel": 5}}, {"block": {"op": "max_pool"}}]})");
  expect_agreement(GetParam(), chain->decode(over_sequences, {{1, 1, 50}, 4}).value(), recipe);
  const auto over_tables = nlohmann::json::parse(R"({"stem": {"op": "none"},
      "stages": [{"block": {"op": "dense", "norm": "layer"}, "channels": 33},
                 {"block": {"op": "dense", "norm": "none"}, "channels": 20},
                 {"block": {"op": "dense", "norm": "layer", "activation": "silu"}, "channels": 64}],
      "head": {"op": "flatten_linear"}})");
  expect_agreement(GetParam(), chain->decode(over_tables, {{13, 1, 1}, 3}).value(), recipe);
}

TEST_P(Backend, KeepsEveryBitOfAState) {
  for (const char* optimizer : {"sgd", "adam", "adamw", "rmsprop", "lars"}) {
    Recipe recipe;
    recipe.batch_size = 4;
    recipe.optimizer = optimizer;
    recipe.ema = 0.9;
    const Network network = composite(21);
    const auto executable = compiled(GetParam(), network, recipe);
    executable->set_state({lived_in_weights(network, 2), {}});
    fill_batch(*executable, 4, 3);
    for (std::int64_t step = 0; step < 3; ++step) executable->train_step({.lr = 0.1, .step = step});
    const TrainingState state = executable->state();
    const auto other = compiled(GetParam(), network, recipe);
    other->set_state(state);
    const TrainingState again = other->state();
    ASSERT_EQ(again.moments.size(), state.moments.size());
    for (std::size_t i = 0; i < state.weights.size(); ++i) {
      EXPECT_EQ(again.weights[i].name, state.weights[i].name);
      EXPECT_EQ(again.weights[i].shape, state.weights[i].shape);
      EXPECT_EQ(again.weights[i].data, state.weights[i].data);
      EXPECT_EQ(again.average[i].data, state.average[i].data);
    }
    for (std::size_t m = 0; m < state.moments.size(); ++m) {
      ASSERT_EQ(again.moments[m].size(), zeros_like(network).size());
      for (std::size_t i = 0; i < state.moments[m].size(); ++i) {
        EXPECT_EQ(again.moments[m][i].data, state.moments[m][i].data);
      }
    }
  }
}

// The bits depend neither on what the memory held before nor on what was compiled in between.
TEST_P(Backend, TakesBitIdenticalStepsInEveryCompilation) {
  const Network network = composite(19);
  Recipe recipe;
  recipe.batch_size = 4;
  std::vector<BatchResult> results;
  std::vector<TrainingState> states;
  for (int run = 0; run < 2; ++run) {
    if (run == 1) {
      const auto other = compiled(GetParam(), composite(33), recipe);
      fill_batch(*other, 4, 9);
      other->train_step({.lr = 0.1});
    }
    const auto executable = compiled(GetParam(), network, recipe);
    executable->set_state({lived_in_weights(network, 2), {}});
    fill_batch(*executable, 4, 3);
    executable->train_step({.lr = 0.1, .seed = 5});
    results.push_back(executable->train_step({.lr = 0.1, .step = 1, .seed = 5}));
    states.push_back(executable->state());
  }
  EXPECT_EQ(results[0].loss, results[1].loss);
  for (std::size_t i = 0; i < states[0].weights.size(); ++i) {
    EXPECT_EQ(states[0].weights[i].data, states[1].weights[i].data) << states[0].weights[i].name;
  }
}

TEST_P(Backend, EvaluatesWithoutChangingAnything) {
  const Network network = composite(8);
  Recipe recipe;
  recipe.batch_size = 4;
  const auto executable = compiled(GetParam(), network, recipe);
  executable->set_state({lived_in_weights(network, 2), {}});
  fill_batch(*executable, 4, 3);
  const TrainingState before = executable->state();
  const BatchResult first = executable->evaluate(4);
  EXPECT_EQ(first.loss, executable->evaluate(4).loss);
  const TrainingState after = executable->state();
  for (std::size_t i = 0; i < before.weights.size(); ++i) {
    EXPECT_EQ(before.weights[i].data, after.weights[i].data);
  }
}

TEST_P(Backend, ReturnsALossThatIsNotFinite) {
  const LayerCase dense{
      "dense", {3, 4, 4}, {.kind = LayerKind::kDense, .channels = 7, .bias = true}};
  for (const Network& network : {composite(8), sandwich(dense)}) {
    Recipe recipe;
    recipe.batch_size = 4;
    const auto executable = compiled(GetParam(), network, recipe);
    TrainingState state{lived_in_weights(network, 2), {}};
    state.weights[0].data[0] = std::numeric_limits<float>::quiet_NaN();
    executable->set_state(state);
    fill_batch(*executable, network.output().shape.channels, 3);
    EXPECT_TRUE(std::isnan(executable->evaluate(4).loss));
    EXPECT_TRUE(std::isnan(executable->train_step({.lr = 0.1}).loss));
  }
}

TEST_P(Backend, HidesNoNaNUnderALargerNumber) {
  NetworkBuilder b({1, 4, 4});
  const NodeId pooled = b.add({.kind = LayerKind::kMaxPool, .kernel = 3}, {b.input()});
  const Network network =
      b.build(b.add({.kind = LayerKind::kDense, .channels = 2}, {pooled})).value();
  const auto executable = compiled(GetParam(), network, Recipe{.batch_size = 2});
  executable->set_state({lived_in_weights(network, 2), {}});
  fill_batch(*executable, 2, 3);
  executable->images()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(executable->evaluate(2).loss));
}

// The network needs more than any address space, so that no system promises it. The reference is
// left out: it calls operator new, which a sanitizer does not let fail.
TEST(FastBackends, ThrowBadAllocWhenMemoryIsShort) {
  NetworkBuilder b({3, 4096, 4096});
  const NodeId conv = b.add({.kind = LayerKind::kConv, .channels = 16, .kernel = 3}, {b.input()});
  const Network network = b.build(b.add({.kind = LayerKind::kGlobalAvgPool}, {conv})).value();
  Recipe recipe;
  recipe.batch_size = 1 << 22;
  for (const BackendRow& row : tested_backends()) {
    if (row.name == "reference") continue;
    EXPECT_THROW((void)row.compile(network, recipe, {}), std::bad_alloc) << row.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Backend, testing::ValuesIn(tested_backends()),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Parity compares a fast backend's arithmetic with the reference's: ResNet-8, five steps of SGD.
class Parity : public testing::Test {
 protected:
  Parity() : network_(make_resnet({})) {
    recipe_.batch_size = 4;
    pair_ = {make_reference<double>(network_, recipe_),
             compiled(fastest_tested(), network_, recipe_)};
    pair_.start({initial_weights(network_, 1), {}}, 10, 2);
  }

  // Returns how far one step's updates are apart, from one state on the batch of that seed.
  double step_from(const TrainingState& state, std::int64_t step, std::uint64_t batch) {
    pair_.start(state, 10, batch);
    const StepSettings settings{.lr = 0.01, .step = step};
    const double wanted = pair_.reference->train_step(settings).loss;
    EXPECT_NEAR(pair_.tested->train_step(settings).loss / wanted, 1, 1e-6);
    return apart(pair_.tested->state().weights, pair_.reference->state().weights, state.weights);
  }

  Network network_;
  Recipe recipe_;
  Pair pair_;
};

// One of the half a million inputs of ReLU may lie within rounding of zero and fall on its other
// side, which is not an error of a backend; it will not happen in three batches out of three.
TEST_F(Parity, HoldsForFiveStepsEachFromTheReferencesState) {
  for (std::int64_t step = 0; step < 5; ++step) {
    const TrainingState state = pair_.reference->state();
    double update = 1;
    for (std::uint64_t batch = 0; batch < 3 && update > 1e-4; ++batch) {
      update = step_from(state, step, 10 * static_cast<std::uint64_t>(step) + batch);
    }
    EXPECT_LE(update, 1e-4) << "step " << step;
  }
}

TEST_F(Parity, HoldsForFiveFreeSteps) {
  for (std::int64_t step = 0; step < 5; ++step) {
    const StepSettings settings{.lr = 0.01, .step = step};
    const double wanted = pair_.reference->train_step(settings).loss;
    EXPECT_NEAR(pair_.tested->train_step(settings).loss / wanted, 1, 1e-5) << "step " << step;
  }
}

}  // namespace
}  // namespace detol

// How near the steps of the GPU backend are to the reference's in each precision, and those of
// every algorithm in bfloat16. Runs on a device or an emulated one; skipped elsewhere.

#include <cmath>

#include <gtest/gtest.h>

#include "bench/networks.h"
#include "core/table.h"
#include "tests/trainer/group_steps.h"
#include "tests/trainer/samples.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/backends.h"

namespace detol {
namespace {

Network lenet() {
  using enum LayerKind;
  NetworkBuilder b({1, 28, 28});
  NodeId x = b.add({.kind = kConv, .channels = 6, .kernel = 5, .bias = true}, {b.input()});
  x = b.add({.kind = kMaxPool, .kernel = 3, .stride = 2}, {b.add({.kind = kActivation}, {x})});
  x = b.add({.kind = kConv, .channels = 16, .kernel = 5, .bias = true}, {x});
  x = b.add({.kind = kMaxPool, .kernel = 3, .stride = 2}, {b.add({.kind = kActivation}, {x})});
  x = b.add({.kind = kDense, .channels = 32, .bias = true}, {b.add({.kind = kFlatten}, {x})});
  return b
      .build(
          b.add({.kind = kDense, .channels = 4, .bias = true}, {b.add({.kind = kActivation}, {x})}))
      .value();
}

Network mlp() {
  using enum LayerKind;
  NetworkBuilder b({1, 8, 8});
  NodeId x = b.add({.kind = kDense, .channels = 48, .bias = true}, {b.input()});
  x = b.add({.kind = kDense, .channels = 32, .bias = true}, {b.add({.kind = kActivation}, {x})});
  return b
      .build(
          b.add({.kind = kDense, .channels = 4, .bias = true}, {b.add({.kind = kActivation}, {x})}))
      .value();
}

// Returns noise that is brighter in the quarter that the label names: with labels that the images
// do not show, gradients cancel each other out, and only their rounding is left.
Dataset quarters(const Shape& shape, std::int64_t images) {
  Dataset data = noise(shape, 4, images);
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const bool right = at % shape.width >= shape.width / 2;
    const bool low = at / shape.width % shape.height >= shape.height / 2;
    const std::int32_t quarter = (low ? 2 : 0) + (right ? 1 : 0);
    const bool is_named = data.labels[static_cast<std::size_t>(at / shape.elements())] == quarter;
    data.images[i] = static_cast<std::uint8_t>(data.images[i] / 2 + (is_named ? 127 : 0));
  }
  return data;
}

// Takes five steps; each starts from `from`'s state where that is given, else from the last one's.
Steps steps_on_quarters(std::string_view backend, const Network& network, const Recipe& recipe,
                        const Steps* from = nullptr, const AlgorithmChoices* choices = nullptr) {
  const auto executable =
      find_row(backends(), backend)->compile(network, recipe, {.choices = choices}).value();
  const Dataset data = quarters(network.input_shape(), kSteps * recipe.batch_size);
  Batches batches(data, recipe, 3);
  batches.start_epoch(1);
  // A seed at which no ReLU and no maximum is decided by the last bits of its inputs.
  Steps steps{{{initial_weights(network, 7), {}}}, {}, {}};
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const auto at = static_cast<std::size_t>(step);
    executable->set_state(from != nullptr ? from->states[at] : steps.states.back());
    batches.fill(step, executable->micro_batches()[0], executable->images(), executable->targets());
    steps.losses.push_back(executable->train_step({.lr = 0.01, .step = step, .seed = 17}).loss);
    steps.states.push_back(executable->state());
  }
  return steps;
}

struct PrecisionCase {
  std::string precision;
  double update, loss;  // the largest relative differences, of an update and of a loss
};

class Precision : public OnDevice, public testing::WithParamInterface<PrecisionCase> {};

// Takes each of the reference's five steps from the state in which the reference takes it.
TEST_P(Precision, FiveStepsAreNearTheReferencesOnes) {
  const PrecisionCase& tested = GetParam();
  const std::vector<Network> networks = {
      lenet(), mlp(), make_resnet({.input = {3, 16, 16}, .width = 8, .classes = 4})};
  for (const Network& network : networks) {
    Recipe recipe{.weight_decay = 1e-4, .batch_size = 32};
    const Steps wanted = steps_on_quarters("reference", network, recipe);
    recipe.precision = tested.precision;
    const Steps found = steps_on_quarters(fastest_tested().name, network, recipe, &wanted);
    for (std::size_t step = 0; step < wanted.losses.size(); ++step) {
      SCOPED_TRACE(step);
      EXPECT_LE(std::abs(found.losses[step] / wanted.losses[step] - 1), tested.loss);
      EXPECT_LE(apart(found.states[step + 1].weights, wanted.states[step + 1].weights,
                      wanted.states[step].weights),
                tested.update);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Precision,
                         testing::Values(PrecisionCase{"fp32", 1e-3, 1e-5},
                                         PrecisionCase{"tf32", 3e-2, 2e-3},
                                         PrecisionCase{"bf16", 5e-2, 2e-2}),
                         [](const auto& tested) { return tested.param.precision; });

struct ConvCase {
  std::string name;
  Shape input;
  Layer layer;
  std::int64_t batch = 8;
};

class AlgorithmInBf16 : public OnDevice, public testing::WithParamInterface<ConvCase> {};

Network network_of(const ConvCase& tested) {
  using enum LayerKind;
  NetworkBuilder b(tested.input);
  NodeId x = b.add({.kind = kConv, .channels = tested.input.channels, .kernel = 1}, {b.input()});
  x = b.add({.kind = kActivation}, {b.add({.kind = kBatchNorm}, {x})});
  x = b.add({.kind = kBatchNorm}, {b.add(tested.layer, {x})});
  x = b.add({.kind = kGlobalAvgPool}, {b.add({.kind = kActivation}, {x})});
  return b.build(b.add({.kind = kDense, .channels = 4, .bias = true}, {x})).value();
}

// An update of eight images is less exact than in Precision; without a tap it is a third off.
void expect_same_updates(const Steps& found, const Steps& wanted) {
  for (std::size_t step = 0; step < wanted.losses.size(); ++step) {
    EXPECT_LE(apart(found.states[step + 1].weights, wanted.states[step + 1].weights,
                    wanted.states[step].weights),
              1e-1)
        << step;
  }
}

// In fp32, AlgorithmOfLayer tells algorithms apart; here are those that tensor cores alone have.
// With many images a block works on several of them, one after the other, also on a large device.
TEST_P(AlgorithmInBf16, TakesTheReferencesStep) {
  const Network network = network_of(GetParam());
  Recipe recipe{.batch_size = GetParam().batch};
  const Steps wanted = steps_on_quarters("reference", network, recipe);
  recipe.precision = "bf16";
  const BackendRow& row = fastest_tested();
  const auto all = row.list_algorithms(network, recipe, {}).value();
  for (const AlgorithmCandidates& open : all) {
    for (const std::string& algorithm : open.algorithms) {
      SCOPED_TRACE(open.key + ": " + algorithm);
      const AlgorithmChoices choices{{{open.key, algorithm}}};
      expect_same_updates(steps_on_quarters(row.name, network, recipe, &wanted, &choices), wanted);
    }
  }
}

// The same by the fixed rule alone, which takes our kernels where they support a shape: short
// enough for tools that watch every access to memory.
TEST_P(AlgorithmInBf16, TakesTheReferencesStepByTheRule) {
  const Network network = network_of(GetParam());
  Recipe recipe{.batch_size = GetParam().batch};
  const Steps wanted = steps_on_quarters("reference", network, recipe);
  recipe.precision = "bf16";
  expect_same_updates(steps_on_quarters(fastest_tested().name, network, recipe, &wanted), wanted);
}

Layer window(std::int64_t channels, std::int64_t height, std::int64_t width) {
  return {.kind = LayerKind::kConv, .channels = channels, .kernel = width, .kernel_height = height};
}

INSTANTIATE_TEST_SUITE_P(
    Every, AlgorithmInBf16,
    testing::Values(ConvCase{"sixteen", {16, 6, 10}, window(16, 3, 3)},
                    ConvCase{"several_bands", {16, 40, 18}, window(16, 3, 3)},
                    ConvCase{"many_images", {16, 2, 4}, window(16, 3, 3), 420},
                    ConvCase{"thirty_two", {32, 7, 7}, window(32, 3, 3)},
                    ConvCase{"padded_channels", {3, 9, 14}, window(16, 3, 3)},
                    ConvCase{"to_twice_the_channels", {16, 7, 7}, window(32, 3, 3)},
                    ConvCase{"to_half_the_channels", {32, 7, 7}, window(16, 3, 3)},
                    ConvCase{"one_tap", {16, 8, 8}, window(32, 1, 1)},
                    ConvCase{"pointwise_of_many_pixels", {24, 16, 16}, window(40, 1, 1)},
                    ConvCase{"sequence", {16, 1, 30}, window(16, 1, 5)}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace detol

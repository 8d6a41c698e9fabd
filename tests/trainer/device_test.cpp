// The contract of the GPU backend beyond that of every backend: steps on a data set on the device
// are those of batches from the host. Runs on a device or an emulated one; skipped elsewhere.

#include <cmath>

#include <gtest/gtest.h>

#include "bench/networks.h"
#include "core/table.h"
#include "encodings/network/cost.h"
#include "tests/support/thread_group.h"
#include "tests/trainer/group_steps.h"
#include "tests/trainer/samples.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/backends.h"
#include "trainer/backends/cuda/load.h"
#include "trainer/predict.h"
#include "trainer/training_memory.h"

namespace detol {
namespace {

using testing_support::on_ranks;

// --- a data set on the device --------------------------------------------------------------------

constexpr std::int64_t kImages = 50;

Recipe augmented() {
  Recipe recipe{.weight_decay = 0.01,
                .batch_size = 8,
                .label_smoothing = 0.1,
                .ema = 0.9,
                .crop_padding = 2,
                .horizontal_flip = true,
                .cutout = 3,
                .mixup = 0.4};
  return recipe;
}

Dataset data_of(const Network& network) {
  Dataset data = noise(network.input_shape(), 4, kImages);
  data.info.training = kImages - 10;
  data.info.validation = 10;
  return data;
}

// Epoch holds the results of all steps of an epoch, and the weights after it.
struct Epoch {
  std::vector<BatchResult> results;
  Weights weights;
};

StepSettings settings_of(std::int64_t step) {
  return {.lr = 0.01 / static_cast<double>(step + 1), .step = step, .seed = 17};
}

Epoch from_host(Executable& executable, const Dataset& data, const Recipe& recipe) {
  Batches batches(data, recipe, 3);
  batches.start_epoch(1);
  Epoch epoch;
  for (std::int64_t step = 0; step < batches.steps_per_epoch(); ++step) {
    BatchResult sum;
    for (const Shard& shard : executable.micro_batches()) {
      batches.fill(step, shard, executable.images(), executable.targets());
      const BatchResult result = executable.accumulate(settings_of(step), shard);
      sum.loss += result.loss;
      sum.correct += result.correct;
    }
    executable.update(settings_of(step));
    epoch.results.push_back(sum);
  }
  epoch.weights = executable.state().weights;
  return epoch;
}

Epoch on_device(Executable& executable, const Dataset& data, const Recipe& recipe) {
  Batches batches(data, recipe, 3);
  DeviceSteps* steps = executable.steps_on(data);
  std::vector<StepSettings> settings;
  for (std::int64_t i = 0; i < batches.steps_per_epoch(); ++i) settings.push_back(settings_of(i));
  steps->begin(batches.images_of(1), settings);
  Epoch epoch;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    steps->step();
    for (const BatchResult& result : steps->results(2)) epoch.results.push_back(result);
  }
  for (const BatchResult& result : steps->results(0)) epoch.results.push_back(result);
  epoch.weights = executable.state().weights;
  return epoch;
}

void expect_same(const Epoch& a, const Epoch& b) {
  ASSERT_EQ(a.results.size(), b.results.size());
  for (std::size_t i = 0; i < a.results.size(); ++i) {
    EXPECT_NEAR(a.results[i].loss, b.results[i].loss, 1e-12) << i;
    EXPECT_EQ(a.results[i].correct, b.results[i].correct) << i;
  }
  for (std::size_t i = 0; i < a.weights.size(); ++i)
    EXPECT_EQ(a.weights[i].data, b.weights[i].data) << a.weights[i].name;
}

class DeviceData : public OnDevice {
 protected:
  std::unique_ptr<Executable> compiled(const Recipe& recipe, int micro_batches = 1) {
    auto executable =
        fastest_tested().compile(network_, recipe, {.micro_batches = micro_batches}).value();
    executable->set_state({lived_in_weights(network_, 5), {}});
    return executable;
  }
  Epoch host(const Recipe& recipe, int micro_batches = 1) {
    return from_host(*compiled(recipe, micro_batches), data_, recipe);
  }
  Epoch device(const Recipe& recipe, int micro_batches = 1) {
    return on_device(*compiled(recipe, micro_batches), data_, recipe);
  }

  const Network network_ = without_norm();
  Dataset data_ = data_of(network_);
};

TEST_F(DeviceData, GivesTheStepsOfBatchesFromTheHostToTheBit) {
  expect_same(device(augmented()), host(augmented()));
}

TEST_F(DeviceData, GivesThemWithoutAugmentationToo) {
  const Recipe recipe{.optimizer = "adamw", .batch_size = 7};
  expect_same(device(recipe), host(recipe));
}

TEST_F(DeviceData, GivesThemInParts) {
  Recipe recipe = augmented();
  recipe.batch_size = 11;
  expect_same(device(recipe, 3), host(recipe, 3));
}

TEST_F(DeviceData, GivesThemForTargetsAndPixelsThatAreNoBytes) {
  data_.labels.clear();
  for (std::int64_t i = 0; i < kImages * 4; ++i)
    data_.targets.push_back(static_cast<float>(i % 5) * 0.3F);
  for (const std::uint8_t pixel : data_.images) data_.values.push_back(pixel * 0.01F);
  data_.images.clear();
  Recipe recipe = augmented();
  recipe.loss = "mse";
  recipe.label_smoothing = 0;
  expect_same(device(recipe), host(recipe));
}

TEST_F(DeviceData, GivesThemForClassesWithWeights) {
  Recipe recipe = augmented();
  recipe.class_weights = "sqrt";
  expect_same(device(recipe), host(recipe));
}

TEST_F(DeviceData, OneEpochFollowsAnother) {
  const Recipe recipe = augmented();
  const auto executable = compiled(recipe);
  on_device(*executable, data_, recipe);
  const Epoch second = on_device(*executable, data_, recipe);
  const auto other = compiled(recipe);
  from_host(*other, data_, recipe);
  expect_same(second, from_host(*other, data_, recipe));
}

TEST_F(DeviceData, IsScoredLikeBatchesFromTheHost) {
  const auto executable = compiled(augmented());
  DeviceSteps* steps = executable->steps_on(data_);
  std::vector<float> outputs(10 * 4);
  const BatchResult all = steps->evaluate(40, 10, outputs);
  double loss = 0;
  std::int64_t correct = 0;
  std::vector<float> wanted;
  const std::vector<float> images = normalised_images(data_, {40, 10});
  for (const std::int64_t first : {0, 8}) {
    const std::int64_t count = first == 0 ? 8 : 2;
    std::copy_n(images.begin() + first * 192, count * 192, executable->images().begin());
    for (std::int64_t i = 0; i < count; ++i)
      data_.write_targets(40 + first + i, static_cast<std::size_t>(i), executable->targets());
    const BatchResult result = executable->evaluate(count);
    loss += result.loss * static_cast<double>(count) / 10;
    correct += result.correct;
    wanted.insert(wanted.end(), executable->logits().begin(),
                  executable->logits().begin() + count * 4);
  }
  EXPECT_NEAR(all.loss, loss, 1e-12);
  EXPECT_EQ(all.correct, correct);
  EXPECT_EQ(outputs, wanted);
}

// --- measuring -----------------------------------------------------------------------------------

class Measuring : public OnDevice {};

TEST_F(Measuring, TheDeviceHasPeaksInEveryPrecision) {
  for (const char* precision : {"fp32", "tf32", "bf16"}) {
    const auto peaks = cuda_plugin().value()->peaks(precision);
    ASSERT_TRUE(peaks) << peaks.error().message;
    EXPECT_GT(peaks->bytes_per_s, 0) << precision;
    EXPECT_GT(peaks->flops_per_s, 0) << precision;
  }
}

TEST_F(Measuring, ANetworkHasTimesOfItsStepsAndOfItsUnits) {
  const Network network = without_norm();
  const auto seconds = cuda_plugin().value()->time_network(network, augmented(), 3);
  ASSERT_TRUE(seconds) << seconds.error().message;
  EXPECT_EQ(seconds->steps.size(), 3U);
  ASSERT_EQ(seconds->nodes.size(), network.nodes().size());
  EXPECT_GT(seconds->nodes[1].forward, 0);
  EXPECT_GT(seconds->nodes[1].backward, 0);
}

// --- groups --------------------------------------------------------------------------------------

// The ranks are threads. On one device the host adds up their gradients; where each thread has an
// emulated device of its own ("apart"), NCCL does.
class DeviceMemory : public OnDevice {};

// Of a network whose largest tensor is its input, whose one channel a device pads to eight.
TEST_F(DeviceMemory, IsForeseenWithinATenth) {
  const Network network = find_row(bench_networks(), "mlp")->make();
  for (const std::int64_t batch : {256, 1024}) {
    const Recipe recipe{.batch_size = batch, .precision = "bf16"};
    Cost cost = cost_of(network).value();
    cost.memory = training_bytes(network, recipe).value();
    const auto executable =
        find_row(backends(), fastest_tested().name)->compile(network, recipe, {}).value();
    EXPECT_NEAR(device_bytes({network, recipe, cost}) / static_cast<double>(executable->bytes()), 1,
                0.1)
        << batch;
  }
}

class DeviceGroup : public OnDevice {};

TEST_F(DeviceGroup, AStepIsThatOfOneRankWithTheWholeBatch) {
  for (const int size : {2, 3}) {
    on_ranks(size, [&](Group& group) {
      EXPECT_LE(apart_from_one_rank(fastest_tested().name, without_norm(),
                                    shared_recipe("sgd", false), {&group}),
                2e-5)
          << size;
      EXPECT_LE(apart_from_one_rank(fastest_tested().name, composite(5), shared_recipe("sgd", true),
                                    {&group}),
                2e-5)
          << "with synchronised batch norm, of " << size;
    });
  }
}

TEST_F(DeviceGroup, AnEpochOnTheDevicesIsTheEpochOfBatchesFromTheHost) {
  const Network network = without_norm();
  const Dataset data = data_of(network);
  const Recipe recipe = augmented();
  on_ranks(2, [&](Group& group) {
    const auto compiled = [&] {
      auto executable = fastest_tested().compile(network, recipe, {&group}).value();
      executable->set_state({lived_in_weights(network, 5), {}});
      return executable;
    };
    const auto executable = compiled();
    if (executable->steps_on(data) == nullptr) return;  // the ranks share a device
    const Epoch found = on_device(*executable, data, recipe);
    expect_same(found, from_host(*compiled(), data, recipe));
  });
}

// Compressed and stale gradients are sent by the host, wherever the ranks are.
TEST_F(DeviceGroup, SumsThatAreCompressedOrLateAreTheReferencesToo) {
  Recipe recipe = shared_recipe("sgd", false);
  recipe.compression = "top_k";
  recipe.compression_share = 0.5;
  recipe.staleness = 1;
  on_ranks(2, [&](Group& group) {
    const Steps wanted = take_steps("reference", without_norm(), recipe, {&group});
    const Steps found =
        take_steps(fastest_tested().name, without_norm(), recipe, {&group}, &wanted);
    for (std::size_t step = 1; step < wanted.losses.size(); ++step)
      EXPECT_LE(apart(found.states[step + 1].weights, wanted.states[step + 1].weights,
                      wanted.states[step].weights),
                2e-3)
          << step;
  });
}

}  // namespace
}  // namespace detol

#pragma once

// Compares the steps of a group with those of one rank on the same batch, for the tests of every
// backend. The ranks are threads or processes.

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "core/table.h"
#include "tests/trainer/samples.h"
#include "trainer/backends.h"
#include "trainer/data/batches.h"

namespace detol {

// Returns noise with random labels, for augmented batches.
inline Dataset noise(Shape input, int classes, std::int64_t images) {
  Dataset data;
  data.info = {.task = {.input = input, .classes = classes}, .training = images};
  Rng rng(1);
  for (std::int64_t i = 0; i < images * input.elements(); ++i) {
    data.images.push_back(static_cast<std::uint8_t>(rng.below(256)));
  }
  for (std::int64_t i = 0; i < images; ++i) {
    data.labels.push_back(
        static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(classes))));
  }
  const auto channels = static_cast<std::size_t>(input.channels);
  data.mean.assign(channels, 0.5f);
  data.deviation.assign(channels, 0.3f);
  return data;
}

// Returns a network of convolution, pooling, dropout and dense layers, without batch norm.
inline Network without_norm() {
  using enum LayerKind;
  NetworkBuilder b({3, 8, 8});
  NodeId x = b.add({.kind = kConv, .channels = 12, .kernel = 3, .bias = true}, {b.input()});
  x = b.add({.kind = kMaxPool, .kernel = 3, .stride = 2}, {b.add({.kind = kActivation}, {x})});
  x = b.add({.kind = kFlatten}, {b.add({.kind = kDropout, .rate = 0.2}, {x})});
  x = b.add({.kind = kActivation}, {b.add({.kind = kDense, .channels = 9, .bias = true}, {x})});
  x = b.add({.kind = kDropout, .rate = 0.3}, {x});
  return b.build(b.add({.kind = kDense, .channels = 4, .bias = true}, {x})).value();
}

struct Steps {
  std::vector<TrainingState> states;  // before the first step, after each
  std::vector<double> losses;
  std::vector<double> correct;
};

constexpr std::int64_t kSteps = 5;

// Takes five steps; each starts from `from`'s state where that is given, else from the last one's.
inline Steps take_steps(std::string_view backend, const Network& network, const Recipe& recipe,
                        const Placement& placement, const Steps* from = nullptr) {
  auto compiled = find_row(backends(), backend)->compile(network, recipe, placement);
  if (!compiled) throw std::runtime_error(compiled.error().message);
  const std::unique_ptr<Executable> executable = *std::move(compiled);
  const Dataset data = noise(network.input_shape(), 4, kSteps * recipe.batch_size);
  Batches batches(data, recipe, 3);
  batches.start_epoch(1);
  Steps steps{{{lived_in_weights(network, 5), {}}}, {}, {}};
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const auto at = static_cast<std::size_t>(step);
    executable->set_state(from != nullptr ? from->states[at] : steps.states.back());
    const StepSettings settings{.lr = 0.01, .step = step, .seed = 17};
    std::array<double, 2> sums{};
    for (const Shard& shard : executable->micro_batches()) {
      batches.fill(step, shard, executable->images(), executable->targets());
      const BatchResult result = executable->accumulate(settings, shard);
      sums[0] += result.loss;
      sums[1] += static_cast<double>(result.correct);
    }
    executable->update(settings);
    placement.group->sum(std::span(sums));
    executable->share_state();
    steps.states.push_back(executable->state());
    steps.losses.push_back(sums[0]);
    steps.correct.push_back(sums[1]);
  }
  return steps;
}

// Returns how far apart the group's updates are from those of one rank with the whole batch: the
// largest of five, each from the same state, over all parameters.
inline double apart_from_one_rank(std::string_view backend, const Network& network,
                                  const Recipe& recipe, const Placement& placement) {
  const Steps one = take_steps(backend, network, recipe, {});
  const Steps group = take_steps(backend, network, recipe, placement, &one);
  double most = 0;
  for (std::size_t step = 0; step < one.losses.size(); ++step) {
    most = std::max(most, std::abs(group.losses[step] / one.losses[step] - 1));
    most = std::max(most, std::abs(group.correct[step] - one.correct[step]));
    most = std::max(most, apart(group.states[step + 1].weights, one.states[step + 1].weights,
                                one.states[step].weights));
  }
  return most;
}

// Returns a recipe of augmented batches with an odd number of images.
inline Recipe shared_recipe(std::string_view optimizer, bool sync_batch_norm) {
  Recipe recipe{.optimizer = std::string(optimizer),
                .weight_decay = 0.01,
                .batch_size = 11,
                .label_smoothing = 0.1,
                .crop_padding = 1,
                .horizontal_flip = true,
                .mixup = 0.4};
  recipe.sync_batch_norm = sync_batch_norm;
  return recipe;
}

}  // namespace detol

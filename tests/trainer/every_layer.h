#pragma once

// Compares every layer of every backend with the reference in double.

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/trainer/samples.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/backends/reference/reference.h"

namespace detol {

inline std::unique_ptr<Executable> compiled(const BackendRow& row, const Network& network,
                                            const Recipe& recipe,
                                            const AlgorithmChoices* choices = nullptr) {
  auto executable = row.compile(network, recipe, {.choices = choices});
  if (!executable) throw std::runtime_error(executable.error().message);
  return std::move(*executable);
}

struct Pair {
  std::unique_ptr<Reference<double>> reference;
  std::unique_ptr<Executable> tested;

  void start(const TrainingState& state, std::int64_t classes, std::uint64_t seed) {
    for (Executable* executable : {static_cast<Executable*>(reference.get()), tested.get()}) {
      executable->set_state(state);
      fill_batch(*executable, classes, seed);
    }
  }
};

inline void expect_same_logits(const Pair& pair, std::size_t count, double tolerance) {
  for (std::size_t i = 0; i < count; ++i) {
    const double found = double{pair.tested->logits()[i]},
                 wanted = double{pair.reference->logits()[i]};
    ASSERT_NEAR(found, wanted, tolerance * (1 + std::abs(wanted))) << "logit " << i;
  }
}

// Takes one step from weights as after training, then evaluates a part of the batch.
inline void expect_agreement(const BackendRow& row, const Network& network, const Recipe& recipe,
                             const AlgorithmChoices* choices = nullptr) {
  const std::int64_t classes = network.output().shape.channels;
  Pair pair{make_reference<double>(network, recipe), compiled(row, network, recipe, choices)};
  const TrainingState start{lived_in_weights(network, 7), {}};
  pair.start(start, classes, 11);
  const StepSettings settings{.lr = 0.05, .step = 3, .seed = 13};
  const BatchResult wanted = pair.reference->train_step(settings);
  const BatchResult found = pair.tested->train_step(settings);
  EXPECT_NEAR(found.loss, wanted.loss, 2e-6 * (1 + wanted.loss));
  EXPECT_EQ(found.correct, wanted.correct);
  expect_same_logits(pair, pair.reference->logits().size(), 3e-5);
  const TrainingState after = pair.tested->state();
  EXPECT_LE(apart(after.weights, pair.reference->state().weights, start.weights), 1e-4);
  pair.tested->set_state(pair.reference->state());
  const std::int64_t count = recipe.batch_size - 1;
  const BatchResult seen = pair.tested->evaluate(count);
  const BatchResult expected = pair.reference->evaluate(count);
  EXPECT_NEAR(seen.loss, expected.loss, 2e-6 * (1 + expected.loss));
  EXPECT_EQ(seen.correct, expected.correct);
  expect_same_logits(pair, static_cast<std::size_t>(count * classes), 3e-5);
}

struct Case {
  const BackendRow* backend;
  LayerCase sample;
  friend void PrintTo(const Case& tested, std::ostream* out) { *out << tested.sample.name; }
};

inline std::vector<Case> every_backend_and_layer() {
  std::vector<LayerCase> samples = layer_cases();
  const auto conv = [](std::int64_t channels, std::int64_t kernel, std::int64_t stride,
                       std::int64_t groups, std::int64_t dilation) {
    return Layer{.kind = LayerKind::kConv,
                 .channels = channels,
                 .kernel = kernel,
                 .stride = stride,
                 .groups = groups,
                 .dilation = dilation,
                 .bias = true};
  };
  // Whole registers, more than one block, shapes that the fixed rule gives to another algorithm,
  // and shapes that oneDNN has only in `ref`.
  samples.push_back({"wide_conv3", {16, 6, 6}, conv(32, 3, 1, 1, 1)});
  samples.push_back({"wide_conv3_odd", {17, 7, 7}, conv(33, 3, 2, 1, 1)});
  samples.push_back({"winograd64", {64, 16, 16}, conv(64, 3, 1, 1, 1)});
  samples.push_back({"winograd128_odd", {120, 5, 7}, conv(136, 3, 1, 1, 1)});
  samples.push_back({"winograd16_ragged", {10, 13, 18}, conv(24, 3, 1, 1, 1)});
  samples.push_back({"image3", {3, 9, 14}, conv(24, 3, 1, 1, 1)});
  samples.push_back({"image5_stride2", {1, 15, 9}, conv(40, 5, 2, 1, 1)});
  samples.push_back({"wide_groups2", {32, 6, 6}, conv(32, 3, 1, 2, 1)});
  samples.push_back({"wide_groups4", {24, 6, 6}, conv(40, 3, 1, 4, 1)});
  samples.push_back({"wide_depthwise5", {20, 9, 9}, conv(20, 5, 2, 20, 1)});
  samples.push_back({"wide_depthwise3_dilated", {20, 9, 9}, conv(20, 3, 1, 20, 2)});
  samples.push_back({"wide_depthwise7", {32, 9, 9}, conv(32, 7, 1, 32, 1)});
  samples.push_back({"whole_depthwise3", {32, 9, 7}, conv(32, 3, 1, 32, 1)});
  samples.push_back({"whole_depthwise3_stride2", {16, 8, 9}, conv(16, 3, 2, 16, 1)});
  samples.push_back({"whole_depthwise5_stride2", {32, 9, 9}, conv(32, 5, 2, 32, 1)});
  samples.push_back({"wide_scale", {20, 5, 5}, {.kind = LayerKind::kScale}});
  samples.push_back({"gate_wide", {20, 5, 5}, {.kind = LayerKind::kScale}});
  samples.push_back({"wide_dropout", {20, 5, 5}, {.kind = LayerKind::kDropout, .rate = 0.3}});
  samples.push_back({"wide_depthwise5_dilated_stride2", {20, 9, 9}, conv(20, 5, 2, 20, 2)});
  samples.push_back({"wide_concat_whole_blocks", {32, 5, 5}, {.kind = LayerKind::kConcat}});
  samples.push_back({"wide_concat", {20, 5, 5}, {.kind = LayerKind::kConcat}});
  samples.push_back({"wide_concat_vector", {35, 1, 1}, {.kind = LayerKind::kConcat}});
  samples.push_back({"wide_layer_norm", {37, 5, 5}, {.kind = LayerKind::kLayerNorm}});
  samples.push_back({"wide_layer_norm_vector", {128, 1, 1}, {.kind = LayerKind::kLayerNorm}});
  samples.push_back({"wide_rms_norm", {37, 5, 5}, {.kind = LayerKind::kRmsNorm}});
  const auto attention = [](std::int64_t heads, std::int64_t key_heads, bool causal, bool rotary) {
    return Layer{.kind = LayerKind::kAttention,
                 .heads = heads,
                 .key_heads = key_heads,
                 .causal = causal,
                 .rotary = rotary};
  };
  // Whole registers and parts of them; several tiles of queries and keys.
  samples.push_back({"wide_attention", {96, 1, 70}, attention(2, 2, false, false)});
  samples.push_back({"wide_attention_causal", {64, 1, 150}, attention(2, 1, true, true)});
  samples.push_back({"wide_attention_of_narrow_heads", {40, 7, 9}, attention(3, 1, true, false)});
  samples.push_back({"wide_attention_rotary", {60, 1, 49}, attention(1, 1, false, true)});
  samples.push_back({"wide_depthwise5_stride3", {20, 9, 10}, conv(20, 5, 3, 20, 1)});
  for (const std::int64_t stride : {1, 2}) {
    samples.push_back({"wide_max_pool3_" + std::to_string(stride),
                       {20, 7, 6},
                       {.kind = LayerKind::kMaxPool, .kernel = 3, .stride = stride}});
  }
  samples.push_back({"wide_avg_pool2", {20, 7, 6}, {.kind = LayerKind::kAvgPool, .kernel = 2}});
  for (std::int64_t kernel : {3, 5, 7}) {
    for (std::int64_t dilation : {1, 2}) {
      Layer layer = conv(24, kernel, dilation, 1, dilation);
      layer.kernel_height = 1;
      const std::string name =
          "wide_conv1x" + std::to_string(kernel) + "_" + std::to_string(dilation);
      samples.push_back({name, {17, 1, 30}, layer});
      layer.channels = layer.groups = 17;
      samples.push_back({"depth" + name, {17, 1, 30}, layer});
    }
  }
  std::vector<Case> cases;
  for (const BackendRow& row : tested_backends()) {
    for (const LayerCase& sample : samples) cases.push_back({&row, sample});
  }
  return cases;
}

}  // namespace detol

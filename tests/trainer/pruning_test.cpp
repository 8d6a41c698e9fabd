#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/table.h"
#include "encodings/network/cost.h"
#include "encodings/study/study_config.h"
#include "tests/trainer/random_network.h"
#include "tests/trainer/samples.h"
#include "tests/trainer/trial_runs.h"
#include "trainer/data/formats/formats.h"
#include "trainer/predict.h"
#include "trainer/pruning/importance.h"
#include "trainer/pruning/prune.h"

namespace detol {
namespace {

using enum LayerKind;
using testing_support::TrialRuns;
using Removed = std::vector<bool>;

bool is_removed(const Removed& removed, int one) {
  return removed[static_cast<std::size_t>(one)];
}

// Removes each class with this probability, but leaves every layer a channel.
Removed some_of(const Network& network, const ChannelClasses& classes, double share, Rng& rng) {
  Removed removed(static_cast<std::size_t>(classes.count()));
  for (std::size_t i = 0; i < removed.size(); ++i)
    removed[i] = !classes.is_fixed[i] && rng.chance(share);
  for (NodeId node = 0; node < network.nodes().size(); ++node) {
    const auto& own = classes.of_outputs[node];
    if (std::ranges::all_of(own, [&](int one) { return is_removed(removed, one); }))
      removed[static_cast<std::size_t>(own.front())] = false;
  }
  return removed;
}

// Sets the weights that read removed channels to zero.
Weights muted(const Network& network, Weights weights, const ChannelClasses& classes,
              const Removed& removed) {
  const auto parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Node& node = network.nodes()[parameters[i].node];
    if (parameters[i].spec.name != "weight" || weights[i].shape.size() < 2) continue;
    const std::vector<int> read = classes_read_by(network, classes, parameters[i].node);
    const auto rows = static_cast<std::size_t>(weights[i].shape[0]);
    const auto columns = static_cast<std::size_t>(weights[i].shape[1]);
    const std::size_t size = weights[i].data.size() / (rows * columns);
    const auto groups = static_cast<std::size_t>(node.layer.groups);
    if (groups > 1 && columns == 1) continue;  // depthwise: hands its channels on
    for (std::size_t at = 0; at < weights[i].data.size(); ++at) {
      const std::size_t group = at / size / columns / (rows / groups);
      const std::size_t column = group * columns + at / size % columns;
      if (is_removed(removed, read[column])) weights[i].data[at] = 0;
    }
  }
  return weights;
}

std::vector<float> random_images(const Network& network, Rng& rng) {
  std::vector<float> images(static_cast<std::size_t>(5 * network.input_shape().elements()));
  for (float& pixel : images) pixel = static_cast<float>(rng.normal());
  return images;
}

// Expects that the network without the channels computes what the whole one does whose layers read
// zeros in their place.
void expect_equal_outputs(const Network& network, std::uint64_t seed) {
  Rng rng(seed);
  const ChannelClasses classes = channel_classes(network);
  const Removed removed = some_of(network, classes, 0.4, rng);
  const Weights weights = lived_in_weights(network, seed);
  const auto left = without_channels(network, classes, removed);
  ASSERT_TRUE(left) << left.error().message;
  const Weights kept = in_order_of(*left, weights_without(network, weights, classes, removed));
  ASSERT_TRUE(fits(kept, *left));
  const bool normalises_channels = std::ranges::any_of(network.nodes(), [](const Node& node) {
    return row_of(node.layer.kind).role == LayerRole::kChannelNorm;
  });
  if (normalises_channels) return;  // over fewer channels
  const auto images = random_images(network, rng);
  const auto expected =
      logits_of(network, muted(network, weights, classes, removed), images, "reference").value();
  const auto found = logits_of(*left, kept, images, "reference").value();
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-4 * (1 + std::abs(expected[i])));
}

TEST(WithoutChannels, RandomNetworksComputeTheSameOfWhatIsLeft) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(expect_equal_outputs(RandomNetwork(seed).build(), seed));
  }
}

TEST(WithoutChannels, EveryLayerComputesTheSameOfWhatIsLeft) {
  for (const LayerCase& sample : layer_cases()) {
    SCOPED_TRACE(sample.name);
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      ASSERT_NO_FATAL_FAILURE(expect_equal_outputs(sandwich(sample), seed));
  }
}

// Encoding is a space file of configs/, and the shape of its data.
struct Encoding {
  std::string name;
  Task task;
};

TEST(WithoutChannels, NetworksOfEveryEncodingComputeTheSameOfWhatIsLeft) {
  const Task images{{1, 28, 28}, 10}, small{{3, 32, 32}, 10}, row{{6, 1, 1}, 3};
  for (const Encoding& encoding :
       {Encoding{"cnn", images}, Encoding{"darts_cells", small}, Encoding{"resnet_hpo", small},
        Encoding{"cgp_resset", small}, Encoding{"graph", images}, Encoding{"hybrid", images},
        Encoding{"mlp_table", row}}) {
    const auto config =
        read_study_config(DETOL_SOURCE_DIR "/configs/" + encoding.name + ".yaml").value();
    Rng rng(1);
    for (std::uint64_t seed = 0, tried = 0; seed < 3 && tried < 50; ++tried) {
      SCOPED_TRACE(fmt::format("{} {}", encoding.name, tried));
      const auto candidate = config.candidate(config.space.sample(rng), encoding.task);
      if (!candidate || candidate->cost.flops > 1e7) continue;
      ASSERT_NO_FATAL_FAILURE(expect_equal_outputs(candidate->network, ++seed));
    }
  }
}

// A stem of 8 channels, a residual block on it, and a branch of 4 beside it.
Network joined() {
  NetworkBuilder b({3, 6, 6});
  const NodeId stem = b.add({.kind = kConv, .channels = 8, .kernel = 3}, {b.input()}, "stem");
  const NodeId norm = b.add({.kind = kBatchNorm}, {stem}, "norm");
  const NodeId inside = b.add({.kind = kConv, .channels = 8, .kernel = 3}, {norm}, "inside");
  const NodeId sum = b.add({.kind = kAdd}, {norm, inside}, "sum");
  const NodeId branch = b.add({.kind = kConv, .channels = 4, .kernel = 3}, {norm}, "branch");
  const NodeId both = b.add({.kind = kConcat}, {sum, branch}, "both");
  const NodeId pooled = b.add({.kind = kGlobalAvgPool}, {both}, "pooled");
  return b.build(b.add({.kind = kDense, .channels = 5, .bias = true}, {pooled}, "logits")).value();
}

NodeId node_called(const Network& network, std::string_view name) {
  return static_cast<NodeId>(std::ranges::find(network.nodes(), name, &Node::name) -
                             network.nodes().begin());
}

TEST(ChannelClasses, TieWhatAJoinAddsAndKeepApartWhatItConcatenates) {
  const Network network = joined();
  const ChannelClasses classes = channel_classes(network);
  const auto of = [&](const char* name) { return classes.of_outputs[node_called(network, name)]; };
  EXPECT_EQ(classes.count(), 3 + 8 + 4 + 5);
  EXPECT_EQ(of("inside"), of("stem"));
  EXPECT_NE(of("branch").front(), of("stem").front());
  std::vector<int> both = of("sum");
  for (int one : of("branch")) both.push_back(one);
  EXPECT_EQ(of("both"), both);
  EXPECT_TRUE(classes.is_fixed[static_cast<std::size_t>(of("input").front())]);
  EXPECT_TRUE(classes.is_fixed[static_cast<std::size_t>(of("logits").front())]);
  EXPECT_FALSE(classes.is_fixed[static_cast<std::size_t>(of("stem").front())]);
}

class PruningTest : public TrialRuns {
 protected:
  const Dataset data_ = load_dataset(testing_support::data()).value();
};

// Sets every number of the class's channels to zero, in all layers that make or read them.
Weights without_class(const Network& network, const Weights& all, const ChannelClasses& classes,
                      int one) {
  Removed removed(static_cast<std::size_t>(classes.count()));
  removed[static_cast<std::size_t>(one)] = true;
  Weights weights = muted(network, all, classes, removed);
  const auto parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& rows = classes.of_outputs[parameters[i].node];
    const std::size_t size = weights[i].data.size() / rows.size();
    for (std::size_t at = 0; at < weights[i].data.size(); ++at) {
      if (rows[at / size] == one && parameters[i].spec.trainable) weights[i].data[at] = 0;
    }
  }
  return weights;
}

TEST_P(PruningTest, AChannelWithoutWeightsMattersLeastByEveryMeasure) {
  const Job one = job(testing_support::easy_recipe());
  const Network& network = one.candidate.network;
  const ChannelClasses classes = channel_classes(network);
  const int chosen = classes.of_outputs[1][1];
  const Weights weights = without_class(network, lived_in_weights(network, 3), classes, chosen);
  for (const ImportanceRow& row : importances()) {
    SCOPED_TRACE(row.name);
    const auto scores =
        row.measure(network, weights, classes, {data_, one.candidate.recipe, GetParam()}).value();
    const double own = scores[static_cast<std::size_t>(chosen)];
    for (int other : classes.of_outputs[1]) {
      if (other != chosen) {
        EXPECT_LT(own, scores[static_cast<std::size_t>(other)]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, PruningTest, testing::Values("reference", "cpu"));

TEST(Importance, OfABatchNormIsTheSizeOfItsScaleOfEitherSign) {
  const Network network = joined();
  const ChannelClasses classes = channel_classes(network);
  Weights weights = lived_in_weights(network, 3);
  for (Tensor& tensor : weights) {
    if (tensor.name == "norm.gamma") tensor.data = {-2, 1, 1, 1, 1, 1, 1, 1};
  }
  const Dataset data;
  const Recipe recipe;
  const auto* row = find_row(importances(), "batch_norm");
  ASSERT_NE(row, nullptr);
  const auto scores = row->measure(network, weights, classes, {data, recipe, "reference"}).value();
  const auto score_of = [&](std::size_t channel) {
    return scores[static_cast<std::size_t>(classes.of_outputs[1][channel])];
  };
  EXPECT_DOUBLE_EQ(score_of(0) / score_of(1), 2);
}

PruningTarget flops_at_most(double limit, int multiple = 1) {
  const auto flops = [](const Network& network) -> Result<double> {
    return static_cast<double>(cost_of(network).value().flops);
  };
  return {.cost = flops, .limit = limit, .multiple = multiple};
}

TEST(ChannelsToRemove, AreTheLeastImportantAndNoMoreThanNeeded) {
  const Network network = joined();
  const ChannelClasses classes = channel_classes(network);
  std::vector<double> importance(static_cast<std::size_t>(classes.count()));
  for (std::size_t i = 0; i < importance.size(); ++i)
    importance[i] = static_cast<double>(i * 7 % importance.size());
  const double before = flops_at_most(0).cost(network).value();
  const auto target = flops_at_most(0.5 * before);
  Removed removed = channels_to_remove(network, classes, importance, target).value();
  const auto cost = [&] {
    return target.cost(without_channels(network, classes, removed).value()).value();
  };
  EXPECT_LE(cost(), target.limit);
  double last = -1;
  std::size_t most_important = 0;
  for (std::size_t i = 0; i < removed.size(); ++i) {
    if (!removed[i]) continue;
    EXPECT_FALSE(classes.is_fixed[i]);
    if (importance[i] > last) last = importance[i], most_important = i;
  }
  for (std::size_t i = 0; i < removed.size(); ++i) {
    if (!classes.is_fixed[i] && !removed[i]) {
      EXPECT_GT(importance[i], last);
    }
  }
  removed[most_important] = false;
  EXPECT_GT(cost(), target.limit);
}

TEST(ChannelsToRemove, LeaveEveryLayerATenthAndSayWhenThatIsTooMuch) {
  const Network network = joined();
  const ChannelClasses classes = channel_classes(network);
  const std::vector<double> importance(static_cast<std::size_t>(classes.count()));
  const auto refused = channels_to_remove(network, classes, importance, flops_at_most(10));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kEmpty);
  EXPECT_NE(refused.error().message.find("cannot be pruned to 10"), std::string::npos)
      << refused.error().message;
}

TEST(ChannelsToRemove, KeepMultiplesWhereAskedFor) {
  NetworkBuilder b({3, 6, 6});
  NodeId x = b.add({.kind = kConv, .channels = 32, .kernel = 3}, {b.input()}, "wide");
  x = b.add({.kind = kConv, .channels = 20, .kernel = 3}, {x}, "odd");
  x = b.add({.kind = kGlobalAvgPool}, {x});
  const Network network = b.build(b.add({.kind = kDense, .channels = 5}, {x})).value();
  const ChannelClasses classes = channel_classes(network);
  std::vector<double> importance(static_cast<std::size_t>(classes.count()));
  Rng rng(1);
  for (double& one : importance) one = rng.uniform();
  const double before = flops_at_most(0).cost(network).value();
  for (double share : {0.8, 0.5, 0.3}) {
    const auto removed =
        channels_to_remove(network, classes, importance, flops_at_most(share * before, 8)).value();
    const Network left = without_channels(network, classes, removed).value();
    EXPECT_EQ(left.nodes()[node_called(left, "wide")].shape.channels % 8, 0);
    EXPECT_LE(flops_at_most(0).cost(left).value(), share * before);
  }
}

}  // namespace
}  // namespace detol

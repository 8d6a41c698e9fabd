// The graph of a network's layers.

#include "encodings/common/layer_graph.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

// SmallNetwork: convolution, maybe normalised, activation, dense.
struct SmallNetwork {
  Shape image = {3, 8, 8};
  std::int64_t kernel = 3, channels = 16, classes = 10;
  bool is_normalised = false;
};

LabelledGraph drawing_of(const SmallNetwork& small) {
  NetworkBuilder builder(small.image);
  NodeId x =
      builder.add({.kind = LayerKind::kConv, .channels = small.channels, .kernel = small.kernel},
                  {builder.input()});
  if (small.is_normalised) x = builder.add({.kind = LayerKind::kBatchNorm}, {x});
  x = builder.add({.kind = LayerKind::kActivation}, {x});
  x = builder.add({.kind = LayerKind::kFlatten}, {x});
  x = builder.add({.kind = LayerKind::kDense, .channels = small.classes}, {x});
  return layer_graph(builder.build(x).value().nodes());
}

// Returns how many vertices of `a` find one of their own with the same label in `b`.
std::size_t shared_labels(const LabelledGraph& a, const LabelledGraph& b) {
  std::vector<std::uint64_t> x = a.labels, y = b.labels, both;
  std::ranges::sort(x);
  std::ranges::sort(y);
  std::ranges::set_intersection(x, y, std::back_inserter(both));
  return both.size();
}

// Input, convolution and dense twice, and all five layers once.
constexpr std::size_t kAll = 3 + 3 + 5;

TEST(LayerGraph, DrawsTheNetworkThreeTimes) {
  const LabelledGraph graph = drawing_of({});
  EXPECT_EQ(graph.labels.size(), kAll);
  EXPECT_EQ(graph.edges.size(), kAll - 3);
}

TEST(LayerGraph, ShowsNoWidthOfTheData) {
  EXPECT_EQ(drawing_of({.image = {1, 28, 28}, .classes = 100}), drawing_of({}));
}

TEST(LayerGraph, SharesTheKindsOfNetworksWithOtherKernels) {
  EXPECT_EQ(shared_labels(drawing_of({.kernel = 5}), drawing_of({})), kAll - 2);
}

TEST(LayerGraph, SharesTwoDrawingsWithAWiderNetwork) {
  EXPECT_EQ(shared_labels(drawing_of({.channels = 64}), drawing_of({})), kAll - 1);
  EXPECT_EQ(drawing_of({.channels = 17}), drawing_of({}));  // the power of two is the same
}

TEST(LayerGraph, ShowsANormalisationInTheLastDrawingAlone) {
  const LabelledGraph plain = drawing_of({}), normalised = drawing_of({.is_normalised = true});
  EXPECT_EQ(normalised.labels.size(), kAll + 1);
  EXPECT_EQ(shared_labels(plain, normalised), kAll);
}

}  // namespace
}  // namespace detol

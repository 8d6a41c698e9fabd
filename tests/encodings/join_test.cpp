// Tests that join() combines tensors of any shapes.

#include "encodings/common/join.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace detol {
namespace {

constexpr std::int64_t kLargest = 12;

// Returns a tensor of this shape, made from the builder's input.
NodeId tensor(NetworkBuilder& builder, const Shape& shape) {
  const Shape& input = builder.shape(builder.input());
  NodeId node = builder.input();
  if (input.channels != shape.channels)
    node = builder.add({.kind = LayerKind::kConv, .channels = shape.channels}, {node});
  return downsample(builder, node, shape.height, shape.width,
                    std::to_string(node) + to_text(shape));
}

// Visits every image size up to 12 x 12.
template <typename Visit>
void for_each_size(const Visit& visit) {
  for (std::int64_t height = 1; height <= kLargest; ++height)
    for (std::int64_t width = 1; width <= kLargest; ++width) visit(height, width);
}

void expect_unique_names(const Network& network) {
  std::set<std::string> names;
  for (const Node& node : network.nodes()) EXPECT_TRUE(names.insert(node.name).second) << node.name;
}

TEST(Join, AddsImagesOfAnyTwoSizesAndChannels) {
  for_each_size([](std::int64_t height, std::int64_t width) {
    for_each_size([&](std::int64_t other_height, std::int64_t other_width) {
      SCOPED_TRACE(to_text({3, height, width}) + " and " + to_text({2, other_height, other_width}));
      NetworkBuilder builder({1, kLargest, kLargest});
      const NodeId one = tensor(builder, {3, height, width});
      const NodeId other = tensor(builder, {2, other_height, other_width});
      const NodeId sum = join(builder, JoinKind::kAdd, {one, other}, "sum");
      ASSERT_EQ(builder.shape(sum),
                (Shape{3, std::min(height, other_height), std::min(width, other_width)}));
      ASSERT_TRUE(builder.build(sum)) << builder.build(sum).error().message;
    });
  });
}

TEST(Join, ConcatenatesImagesOfAnyTwoSizesAndChannels) {
  for_each_size([](std::int64_t height, std::int64_t width) {
    NetworkBuilder builder({2, kLargest, kLargest});
    const NodeId one = tensor(builder, {1, height, width});
    const NodeId other = tensor(builder, {3, width, height});
    const NodeId end =
        join(builder, JoinKind::kConcat, {one, builder.input(), other, one}, "concat");
    ASSERT_EQ(builder.shape(end), (Shape{7, std::min(height, width), std::min(height, width)}));
    const auto network = builder.build(end);
    ASSERT_TRUE(network) << network.error().message;
    expect_unique_names(*network);
  });
}

TEST(Join, OfOneIsItself) {
  NetworkBuilder builder({2, 4, 4});
  EXPECT_EQ(join(builder, JoinKind::kAdd, {builder.input()}, "sum"), builder.input());
}

TEST(Join, OfEqualShapesIsOneLayer) {
  for (const JoinKind kind : {JoinKind::kAdd, JoinKind::kConcat}) {
    NetworkBuilder builder({2, 4, 4});
    const NodeId end = join(builder, kind, {builder.input(), builder.input()}, "both");
    EXPECT_EQ(end, builder.input() + 1);
  }
}

struct Shrinking {
  Shape from;
  std::int64_t height, width;
  std::vector<Layer> layers;
};

Layer window(std::int64_t height, std::int64_t width, std::int64_t stride) {
  Layer layer{.kind = LayerKind::kMaxPool, .kernel = width, .stride = stride};
  if (height != width) layer.kernel_height = height;
  return layer;
}

TEST(Join, ShrinksByFewPools) {
  const Shrinking rows[] = {
      {{1, 28, 28}, 14, 14, {window(3, 3, 2)}},
      {{1, 7, 7}, 4, 4, {window(3, 3, 2)}},
      {{1, 7, 7}, 3, 3, {window(3, 3, 3)}},
      {{1, 8, 8}, 3, 3, {window(3, 3, 3)}},
      {{1, 9, 9}, 4, 4, {window(2, 2, 2)}},
      {{1, 7, 7}, 3, 4, {window(2, 3, 2)}},
      {{1, 7, 7}, 5, 5, {window(2, 2, 1), window(2, 2, 1)}},
      {{1, 28, 14}, 7, 4, {window(5, 5, 4)}},
      {{1, 5, 3}, 4, 3, {window(2, 1, 1)}},
      {{1, 1, 64}, 1, 16, {window(1, 5, 4)}},
      {{1, 7, 7}, 1, 1, {{.kind = LayerKind::kGlobalAvgPool}}},
      {{1, 7, 1}, 1, 1, {{.kind = LayerKind::kGlobalAvgPool}}},
      {{1, 7, 7}, 7, 7, {}},
  };
  for (const Shrinking& row : rows) {
    SCOPED_TRACE(to_text(row.from) + " to " + to_text({1, row.height, row.width}));
    NetworkBuilder builder(row.from);
    const auto network = builder.build(downsample(builder, 0, row.height, row.width, "x"));
    ASSERT_TRUE(network);
    std::vector<Layer> layers;
    for (const Node& node : network->nodes().subspan(1)) layers.push_back(node.layer);
    EXPECT_EQ(layers, row.layers);
  }
}

// Sizes halved with either rounding, as they meet in practice.
TEST(Join, OfHalvedImagesNeedsAsManyPoolsAsTheyWereHalved) {
  for (std::int64_t size = 4; size <= 224; ++size) {
    for (std::int64_t parts : {2, 4}) {
      for (std::int64_t wanted : {size / parts, (size + parts - 1) / parts}) {
        SCOPED_TRACE(std::to_string(size) + " to " + std::to_string(wanted));
        NetworkBuilder builder({1, size, size});
        EXPECT_LE(downsample(builder, builder.input(), wanted, wanted, "x"), parts / 2);
      }
    }
  }
}

}  // namespace
}  // namespace detol

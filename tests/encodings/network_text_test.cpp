// A network survives being written as text and read again, whatever its layers.

#include "encodings/network/network_text.h"

#include <gtest/gtest.h>

#include "encodings/network/canonical.h"
#include "tests/trainer/random_network.h"

namespace detol {
namespace {

// Builds the network of nodes that were read.
Network rebuilt(const std::vector<Node>& nodes) {
  NetworkBuilder builder(nodes.front().shape);
  for (std::size_t id = 1; id < nodes.size(); ++id) builder.add(nodes[id].layer, nodes[id].inputs);
  return builder.build(nodes.size() - 1).value();
}

// A cell network: three stages of cells whose nodes sum convolutions of all earlier ones.
Network cell_network(int cells) {
  NetworkBuilder builder({3, 32, 32});
  const auto conv = [&](NodeId from, std::int64_t channels, std::int64_t kernel, int stride = 1) {
    const NodeId made = builder.add(
        {.kind = LayerKind::kConv, .channels = channels, .kernel = kernel, .stride = stride},
        {from});
    return builder.add({.kind = LayerKind::kBatchNorm}, {made});
  };
  NodeId last = conv(builder.input(), 16, 3);
  for (const std::int64_t width : {16, 32, 64}) {
    if (width != 16) last = conv(last, width, 3, 2);
    for (int cell = 0; cell < cells; ++cell) {
      std::vector<NodeId> nodes = {last};
      for (std::size_t to = 1; to < 4; ++to) {
        std::vector<NodeId> terms;
        for (std::size_t from = 0; from < to; ++from) {
          const NodeId active = builder.add({.kind = LayerKind::kActivation}, {nodes[from]});
          terms.push_back(conv(active, width, from == 1 ? 1 : 3));
        }
        nodes.push_back(terms.size() == 1 ? terms[0]
                                          : builder.add({.kind = LayerKind::kAdd}, terms));
      }
      last = nodes.back();
    }
  }
  return builder.build(builder.add({.kind = LayerKind::kGlobalAvgPool}, {last})).value();
}

TEST(NetworkText, GivesBackEveryNetwork) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Network network = RandomNetwork(seed).build();
    const auto nodes = nodes_from_text(to_text(network));
    ASSERT_TRUE(nodes) << to_text(network) << ": " << nodes.error().message;
    ASSERT_EQ(nodes->size(), network.nodes().size()) << to_text(network);
    for (NodeId id = 0; id < nodes->size(); ++id) {
      EXPECT_EQ((*nodes)[id].layer, network.nodes()[id].layer) << to_text(network);
      EXPECT_EQ((*nodes)[id].inputs, network.nodes()[id].inputs) << to_text(network);
      EXPECT_EQ((*nodes)[id].shape, network.nodes()[id].shape) << to_text(network);
    }
    EXPECT_EQ(canonical_hash(rebuilt(*nodes)), canonical_hash(network));
  }
}

TEST(NetworkText, KeepsEveryFieldOfALayer) {
  NetworkBuilder builder({4, 9, 9});
  NodeId last = builder.add({.kind = LayerKind::kConv,
                             .channels = 8,
                             .kernel = 5,
                             .kernel_height = 3,
                             .stride = 2,
                             .groups = 2,
                             .dilation = 2,
                             .bias = true},
                            {builder.input()});
  last = builder.add({.kind = LayerKind::kConv, .channels = 8, .kernel = 3, .groups = 8}, {last});
  last = builder.add({.kind = LayerKind::kActivation, .activation = Activation::kSilu}, {last});
  last = builder.add({.kind = LayerKind::kDropout, .rate = 0.1}, {last});
  const NodeId gate = builder.add({.kind = LayerKind::kGlobalAvgPool}, {last});
  last = builder.add({.kind = LayerKind::kScale}, {last, gate});
  const Network network =
      builder.build(builder.add({.kind = LayerKind::kDense, .channels = 3}, {last})).value();
  EXPECT_EQ(to_text(network), "1 4x9x9 c8k5h3s2g2d2b ck3w s o0.1 p *@2,1 d3");
  EXPECT_EQ(canonical_hash(rebuilt(nodes_from_text(to_text(network)).value())),
            canonical_hash(network));
}

TEST(NetworkText, GrowsLittleWithTheNumberOfBlocks) {
  const std::string five = to_text(cell_network(5)), twenty = to_text(cell_network(20));
  EXPECT_LE(five.size(), 300U) << five;
  EXPECT_LE(twenty.size(), five.size() + 3) << twenty;
  EXPECT_EQ(nodes_from_text(twenty).value().size(), cell_network(20).nodes().size());
}

TEST(NetworkText, OfAnotherFormIsRefused) {
  for (const char* text : {"", "2 3x8x8 p", "1 3x8", "1 0x8x8 p", "1 9999999x9999999x9999999 p",
                           "1 3x8x8 x", "1 3x8x8 ck2", "1 3x8x8 +@1,5", "1 3x8x8 +@0,1",
                           "1 3x8x8 2(b", "1 3x8x8 0(b)", "1 3x8x8 2()", "1 3x8x8 d", "1 3x8x8 cg2",
                           "1 3x8x8 999999(999999(b))", "1 3x8x8 b ", "1 3x8x8 c-4"}) {
    const auto nodes = nodes_from_text(text);
    ASSERT_FALSE(nodes) << text;
    EXPECT_EQ(nodes.error().code, ErrorCode::kInput);
    EXPECT_NE(nodes.error().message.find("byte"), std::string::npos) << text;
  }
}

TEST(NetworkText, IsReadOrRefusedHoweverItIsDamaged) {
  const std::string text = to_text(cell_network(2));
  for (std::size_t at = 0; at < text.size(); ++at) {
    (void)nodes_from_text(text.substr(0, at));
    for (const char other : std::string_view("0)(@,+-x 9k")) {
      std::string damaged = text;
      damaged[at] = other;
      (void)nodes_from_text(damaged);
    }
  }
}

}  // namespace
}  // namespace detol

// The text of a network has all of it, whatever its layers.

#include "encodings/network/network_text.h"

#include <charconv>
#include <map>

#include <gtest/gtest.h>

#include "encodings/network/canonical.h"
#include "tests/trainer/random_network.h"

namespace detol {
namespace {

// Reader reads what to_text() writes, so that a test sees whether the text has all of a network.
class Reader {
 public:
  static std::vector<Node> nodes_of(std::string_view text) {
    Reader reader(text);
    EXPECT_TRUE(reader.skip("1 ")) << text;
    Shape input;
    EXPECT_TRUE(reader.number(input.channels) && reader.skip("x") && reader.number(input.height) &&
                reader.skip("x") && reader.number(input.width))
        << text;
    reader.nodes_.push_back({.layer = {}, .inputs = {}, .shape = input, .name = {}});
    while (reader.skip(" ")) reader.item();
    EXPECT_EQ(reader.at_, text.size()) << text;
    return reader.nodes_;
  }

 private:
  explicit Reader(std::string_view text) : text_(text) {}

  void item() {
    std::size_t count = 0;
    if (!number(count)) return layer();
    EXPECT_TRUE(skip("(")) << text_;
    const std::size_t first = at_;
    for (std::size_t i = 0; i < count; ++i) {
      at_ = first;
      do {
        item();
      } while (skip(" "));
      EXPECT_TRUE(skip(")")) << text_;
    }
  }

  void layer() {
    using enum LayerKind;
    static const std::map<char, LayerKind> kKinds = {
        {'c', kConv},     {'d', kDense},   {'b', kBatchNorm},     {'l', kLayerNorm},
        {'m', kMaxPool},  {'a', kAvgPool}, {'p', kGlobalAvgPool}, {'f', kFlatten},
        {'+', kAdd},      {'*', kScale},   {'o', kDropout},       {'&', kConcat},
        {'h', kAttention}};
    const char letter = text_.at(at_++);
    Node node;
    const auto function = std::ranges::find(kActivations, letter, &ActivationRow::letter);
    const bool activates = function != kActivations.end();
    node.layer.kind = activates ? kActivation : kKinds.at(letter);
    if (activates) node.layer.activation = function->function;
    const bool has_channels = letter == 'o' ? number(node.layer.rate) : number(node.layer.channels);
    const bool is_depthwise = fields(node.layer);
    read_inputs(node);
    std::vector<Shape> shapes;
    for (const NodeId input : node.inputs) shapes.push_back(nodes_.at(input).shape);
    if (letter == 'c' && !has_channels) node.layer.channels = shapes.front().channels;
    if (is_depthwise) node.layer.groups = shapes.front().channels;
    node.shape = output_shape(node.layer, shapes).value();
    nodes_.push_back(std::move(node));
  }

  // Reads the fields after the number; returns true if one of them is "w".
  bool fields(Layer& layer) {
    bool is_depthwise = false;
    while (true) {
      if (skip("w"))
        is_depthwise = true;
      else if (skip("b"))
        layer.bias = true;
      else if (skip("c"))
        layer.causal = true;
      else if (skip("r"))
        layer.rotary = true;
      else if (!(skip("k") && number(layer.kernel)) &&
               !(skip("h") && number(layer.kernel_height)) &&
               !(skip("s") && number(layer.stride)) && !(skip("g") && number(layer.groups)) &&
               !(skip("d") && number(layer.dilation)) && !(skip("n") && number(layer.heads)) &&
               !(skip("m") && number(layer.key_heads)))
        return is_depthwise;
    }
  }

  void read_inputs(Node& node) {
    if (!skip("@")) {
      node.inputs = {nodes_.size() - 1};
      return;
    }
    do {
      std::size_t distance = 0;
      EXPECT_TRUE(number(distance)) << text_;
      node.inputs.push_back(nodes_.size() - distance);
    } while (skip(","));
  }

  bool skip(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  template <typename Number>
  bool number(Number& value) {
    const char* const end = text_.data() + text_.size();
    const auto read = std::from_chars(text_.data() + at_, end, value);
    if (read.ec != std::errc()) return false;
    at_ = static_cast<std::size_t>(read.ptr - text_.data());
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Node> nodes_;
};

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
    const std::vector<Node> nodes = Reader::nodes_of(to_text(network));
    ASSERT_EQ(nodes.size(), network.nodes().size()) << to_text(network);
    for (NodeId id = 0; id < nodes.size(); ++id) {
      EXPECT_EQ(nodes[id].layer, network.nodes()[id].layer) << to_text(network);
      EXPECT_EQ(nodes[id].inputs, network.nodes()[id].inputs) << to_text(network);
      EXPECT_EQ(nodes[id].shape, network.nodes()[id].shape) << to_text(network);
    }
    EXPECT_EQ(canonical_hash(rebuilt(nodes)), canonical_hash(network));
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
  EXPECT_EQ(canonical_hash(rebuilt(Reader::nodes_of(to_text(network)))), canonical_hash(network));
}

TEST(NetworkText, GrowsLittleWithTheNumberOfBlocks) {
  const std::string five = to_text(cell_network(5)), twenty = to_text(cell_network(20));
  EXPECT_LE(five.size(), 300U) << five;
  EXPECT_LE(twenty.size(), five.size() + 3) << twenty;
  EXPECT_EQ(Reader::nodes_of(twenty).size(), cell_network(20).nodes().size());
}

}  // namespace
}  // namespace detol

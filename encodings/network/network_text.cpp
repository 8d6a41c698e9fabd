// A network repeats its blocks. Layers are words; at each word the sequence that saves most by
// being written once, with a count, is chosen, and what is inside is shortened in the same way.
// Since inputs are named by their distance and channels only where they change, equal blocks are
// equal words. The networks of chain, cell and CGP spaces take 50 to 300 bytes.

#include "encodings/network/network_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace detol::inline encoding {
namespace {

constexpr std::string_view kTextVersion = "1";

char letter_of(const Layer& layer) {
  return layer.kind == LayerKind::kActivation ? row_of(layer.activation).letter
                                              : row_of(layer.kind).letter;
}

std::string word_of(std::span<const Node> nodes, NodeId id) {
  const Node& node = nodes[id];
  const Layer& layer = node.layer;
  const std::int64_t before = nodes[node.inputs.front()].shape.channels;
  const bool is_conv = layer.kind == LayerKind::kConv;
  std::string word(1, letter_of(layer));
  const auto field = [&](std::string_view name, std::int64_t value, std::int64_t usual) {
    if (value != usual) word += fmt::format("{}{}", name, value);
  };
  field("", layer.channels, is_conv ? before : 0);
  if (layer.rate != 0) word += fmt::format("{}", layer.rate);
  field("k", layer.kernel, 1);
  field("h", layer.kernel_height, 0);
  field("s", layer.stride, 1);
  const bool is_depthwise = layer.groups == before && layer.groups != 1;
  if (is_depthwise) word += 'w';
  field("g", is_depthwise ? 1 : layer.groups, 1);
  field("d", layer.dilation, 1);
  if (layer.bias) word += 'b';
  field("n", layer.heads, 1);
  field("m", layer.key_heads, 1);
  if (layer.causal) word += 'c';
  if (layer.rotary) word += 'r';
  if (node.inputs.size() == 1 && node.inputs.front() + 1 == id) return word;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    word += fmt::format("{}{}", i == 0 ? '@' : ',', id - node.inputs[i]);
  return word;
}

using LayerWords = std::span<const std::string>;

// Repeat: the first `period` words of a sequence stand there `count` times.
struct Repeat {
  std::size_t period = 1, count = 1, saves = 0;
};

Repeat best_repeat(LayerWords words) {
  constexpr std::size_t kLongest = 128;    // words of a period
  constexpr std::size_t kParentheses = 5;  // characters of a repeat besides its words
  Repeat best;
  std::size_t length = 0;
  for (std::size_t period = 1; period <= std::min(kLongest, words.size() / 2); ++period) {
    length += words[period - 1].size() + 1;
    std::size_t equal = 0;
    while (period + equal < words.size() && words[equal] == words[period + equal]) ++equal;
    const std::size_t again = equal / period;
    if (again * length <= kParentheses + best.saves) continue;
    best = {period, again + 1, again * length - kParentheses};
  }
  return best;
}

void append_folded(std::string& text, LayerWords words) {
  for (std::size_t i = 0; i < words.size();) {
    if (!text.empty() && text.back() != '(') text += ' ';
    const Repeat repeat = best_repeat(words.subspan(i));
    if (repeat.count == 1) {
      text += words[i];
    } else {
      text += fmt::format("{}(", repeat.count);
      append_folded(text, words.subspan(i, repeat.period));
      text += ')';
    }
    i += repeat.period * repeat.count;
  }
}

}  // namespace

std::string to_text(const Network& network) {
  std::vector<std::string> words = {std::string(kTextVersion), to_text(network.input_shape())};
  for (NodeId id = 1; id < network.nodes().size(); ++id)
    words.push_back(word_of(network.nodes(), id));
  std::string text;
  append_folded(text, words);
  return text;
}

}  // namespace detol::inline encoding

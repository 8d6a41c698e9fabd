// A network repeats its blocks. Layers are words; at each word the sequence that saves most by
// being written once, with a count, is chosen, and what is inside is shortened in the same way.
// Since inputs are named by their distance and channels only where they change, equal blocks are
// equal words. The networks of chain, cell and CGP spaces take 50 to 300 bytes.

#include "encodings/network/network_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace detol::inline encoding {
namespace {

constexpr std::string_view kTextVersion = "1";
constexpr std::size_t kMostNodes = 100'000;
constexpr int kDeepest = 16;  // repeats within repeats

struct LetterRow {
  char letter;
  LayerKind kind;
  Activation activation = Activation::kRelu;
};

constexpr std::array kLetters = {
    LetterRow{'c', LayerKind::kConv},
    LetterRow{'d', LayerKind::kDense},
    LetterRow{'b', LayerKind::kBatchNorm},
    LetterRow{'l', LayerKind::kLayerNorm},
    LetterRow{'r', LayerKind::kActivation, Activation::kRelu},
    LetterRow{'s', LayerKind::kActivation, Activation::kSilu},
    LetterRow{'g', LayerKind::kActivation, Activation::kSigmoid},
    LetterRow{'m', LayerKind::kMaxPool},
    LetterRow{'a', LayerKind::kAvgPool},
    LetterRow{'p', LayerKind::kGlobalAvgPool},
    LetterRow{'f', LayerKind::kFlatten},
    LetterRow{'+', LayerKind::kAdd},
    LetterRow{'*', LayerKind::kScale},
    LetterRow{'o', LayerKind::kDropout},
    LetterRow{'&', LayerKind::kConcat},
};

char letter_of(const Layer& layer) {
  const bool has_choice = layer.kind == LayerKind::kActivation;
  for (const LetterRow& each : kLetters) {
    if (each.kind == layer.kind && (!has_choice || each.activation == layer.activation))
      return each.letter;
  }
  return '?';  // which no reader takes
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

// Returns false if sums over the elements may overflow.
bool is_possible(const Shape& shape) {
  constexpr std::int64_t kMostOfASide = std::int64_t{1} << 20;
  constexpr double kMostElementsRead = 0x1.0p40;
  double elements = 1;
  for (const std::int64_t side : {shape.channels, shape.height, shape.width}) {
    if (side < 1 || side > kMostOfASide) return false;
    elements *= static_cast<double>(side);
  }
  return elements <= kMostElementsRead;
}

// TextReader reads a network's text from left to right.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  Result<std::vector<Node>> nodes() {
    if (!skip(kTextVersion) || !skip(" ")) return broken_text("not version 1 of a network");
    Shape input;
    const bool has_shape = number(input.channels) && skip("x") && number(input.height) &&
                           skip("x") && number(input.width);
    if (!has_shape || !is_possible(input)) return broken_text("no shape of the input");
    nodes_.push_back({.layer = {}, .inputs = {}, .shape = input, .name = {}});
    while (skip(" ")) DETOL_TRY(item(0));
    if (at_ < text_.size()) return broken_text("no layer");
    return std::move(nodes_);
  }

 private:
  Result<void> item(int depth) {
    std::size_t count = 0;
    if (!number(count)) return layer();
    if (!skip("(") || count == 0 || depth == kDeepest) return broken_text("no repeated layers");
    const std::size_t first = at_;
    for (std::size_t i = 0; i < count; ++i) {
      at_ = first;
      do {
        DETOL_TRY(item(depth + 1));
      } while (skip(" "));
      if (!skip(")")) return broken_text("no end of the repeated layers");
    }
    return {};
  }

  Result<void> layer() {
    if (nodes_.size() == kMostNodes) return broken_text("too many layers");
    const auto row =
        std::ranges::find(kLetters, at_ < text_.size() ? text_[at_] : '\0', &LetterRow::letter);
    if (row == kLetters.end()) return broken_text("no layer");
    ++at_;
    Node node;
    node.layer.kind = row->kind;
    node.layer.activation = row->activation;
    const bool has_channels =
        row->kind == LayerKind::kDropout ? number(node.layer.rate) : number(node.layer.channels);
    const bool is_depthwise = fields(node.layer);
    if (!inputs(node)) return broken_text("no distance to an input");
    std::vector<Shape> shapes;
    for (const NodeId input : node.inputs) shapes.push_back(nodes_[input].shape);
    if (row->kind == LayerKind::kConv && !has_channels)
      node.layer.channels = shapes.front().channels;
    if (is_depthwise) node.layer.groups = shapes.front().channels;
    const auto shape = output_shape(node.layer, shapes);
    if (!shape) return broken_text(shape.error().message);
    node.shape = *shape;
    nodes_.push_back(std::move(node));
    return {};
  }

  // Reads the fields after the number; returns true if one of them is "w".
  bool fields(Layer& layer) {
    bool is_depthwise = false;
    while (true) {
      if (skip("w"))
        is_depthwise = true;
      else if (skip("b"))
        layer.bias = true;
      else if (!field("k", layer.kernel) && !field("h", layer.kernel_height) &&
               !field("s", layer.stride) && !field("g", layer.groups) &&
               !field("d", layer.dilation))
        return is_depthwise;
    }
  }

  // Returns false if there is no such field, or it has no number.
  bool field(std::string_view name, std::int64_t& value) { return skip(name) && number(value); }

  bool inputs(Node& node) {
    if (!skip("@")) {
      node.inputs = {nodes_.size() - 1};
      return true;
    }
    do {
      std::size_t distance = 0;
      if (!number(distance) || distance == 0 || distance > nodes_.size()) return false;
      node.inputs.push_back(nodes_.size() - distance);
    } while (skip(","));
    return true;
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
    if (read.ec != std::errc() || text_[at_] == '-') return false;
    at_ = static_cast<std::size_t>(read.ptr - text_.data());
    return true;
  }

  tl::unexpected<Error> broken_text(std::string_view what) const {
    return fail(
        ErrorCode::kInput,
        fmt::format("the text of a network, byte {}: {}; of a newer detol, or damaged", at_, what));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace

std::string to_text(const Network& network) {
  std::vector<std::string> words = {std::string(kTextVersion), to_text(network.input_shape())};
  for (NodeId id = 1; id < network.nodes().size(); ++id)
    words.push_back(word_of(network.nodes(), id));
  std::string text;
  append_folded(text, words);
  return text;
}

Result<std::vector<Node>> nodes_from_text(std::string_view text) {
  return TextReader(text).nodes();
}

}  // namespace detol::inline encoding

// Queries, keys and values are gathered from the channels, a key or value once for each head that
// reads it, as N x heads x width x positions. The products of keys and queries are then keys x
// queries, and the softmax is over the keys.

#include "export/onnx_attention.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "export/onnx_interface.h"
#include "export/refuse.h"
#include "trainer/backends/attention.h"

namespace detol::inline exporting {
namespace {

using Integers = OnnxNodes::Integers;

constexpr std::string_view kFlat = ".flat", kShape = ".shape", kChannels = ".channels";
constexpr std::string_view kQueries = ".queries", kKeys = ".keys", kValues = ".values";
constexpr std::string_view kSwap = ".swap", kMask = ".mask";
constexpr float kUnseen = -1e9F;  // added to the score of a key that a query does not see

std::string operator+(const std::string& name, std::string_view more) {
  return name + std::string(more);
}

class AttentionWriter {
 public:
  AttentionWriter(OnnxNodes& nodes, const Layer& layer, std::string name, const Shape& in)
      : nodes_(nodes), a_(attention_of(layer, in)), name_(std::move(name)) {}

  void write(const std::string& input, const Shape& in) {
    const std::string flat = reshape(name_ + kFlat, input, {-1, in.channels, a_.positions});
    std::string q = heads(kQueries, flat, [&](std::int64_t head) { return a_.queries(head); });
    std::string k = heads(kKeys, flat, [&](std::int64_t head) { return a_.keys(head); });
    if (a_.rotary) q = turned(kQueries, q);
    if (a_.rotary) k = turned(kKeys, k);
    const std::string v = heads(kValues, flat, [&](std::int64_t head) { return a_.values(head); });
    const std::string columns = name_ + ".columns";
    OnnxNodes::set_ints(nodes_.add("Transpose", columns, {k}), "perm", {0, 1, 3, 2});
    const std::string products = add("MatMul", ".products", columns, q);
    const std::string scale = nodes_.floats(name_ + ".scale", {}, {static_cast<float>(a_.scale())});
    std::string scores = add("Mul", ".scores", products, scale);
    if (a_.causal) scores = add("Add", ".seen", scores, mask());
    const std::string weights = name_ + ".weights";
    OnnxNodes::set_int(nodes_.add("Softmax", weights, {scores}), "axis", 2);
    const std::string mixed = add("MatMul", ".mixed", v, weights);
    reshape(name_, mixed, {-1, a_.heads * a_.width, in.height, in.width});
  }

 private:
  std::string add(const char* op, std::string_view more, const std::string& left,
                  const std::string& right) {
    nodes_.add(op, name_ + more, {left, right});
    return name_ + more;
  }

  std::string reshape(const std::string& name, const std::string& edge, const Integers& shape) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    nodes_.add("Reshape", name, {edge, nodes_.integers(name + kShape, {rank}, shape)});
    return name;
  }

  std::string gather(const std::string& name, const std::string& edge, const std::string& which,
                     std::int64_t axis) {
    OnnxNodes::set_int(nodes_.add("Gather", name, {edge, which}), "axis", axis);
    return name;
  }

  // Returns the channels from first(head) on of every head.
  template <typename First>
  std::string heads(std::string_view part, const std::string& flat, const First& first) {
    Integers channels;
    for (std::int64_t head = 0; head < a_.heads; ++head) {
      for (std::int64_t c = 0; c < a_.width; ++c) channels.push_back(first(head) + c);
    }
    const std::string name = name_ + part;
    const std::string which = nodes_.integers(name + kChannels, {std::ssize(channels)}, channels);
    gather(name, flat, which, 1);
    return reshape(name + ".heads", name, {-1, a_.heads, a_.width, a_.positions});
  }

  // Returns the heads with their pairs of channels turned: x cosine + its partner times the sine,
  // negative for the first of a pair.
  std::string turned(std::string_view part, const std::string& heads) {
    const std::int64_t half = a_.width / 2;
    std::vector<float> cosines, sines;
    Integers partners;
    for (std::int64_t c = 0; c < a_.width; ++c) {
      partners.push_back((c + half) % a_.width);
      for (std::int64_t at = 0; at < a_.positions; ++at) {
        const double angle = rotary_angle(at, c % half, a_.width);
        cosines.push_back(static_cast<float>(std::cos(angle)));
        sines.push_back(static_cast<float>(c < half ? -std::sin(angle) : std::sin(angle)));
      }
    }
    const std::string name = name_ + part;
    const std::string swap = nodes_.integers(name + kSwap, {a_.width}, partners);
    const std::string partner = gather(name + ".partners", heads, swap, 2);
    const Integers table = {a_.width, a_.positions};
    const std::string cosine = nodes_.floats(name + ".cosines", table, cosines);
    const std::string sine = nodes_.floats(name + ".sines", table, sines);
    nodes_.add("Mul", name + ".kept", {heads, cosine});
    nodes_.add("Mul", name + ".crossed", {partner, sine});
    nodes_.add("Add", name + ".turned", {name + ".kept", name + ".crossed"});
    return name + ".turned";
  }

  std::string mask() {
    std::vector<float> unseen;
    for (std::int64_t key = 0; key < a_.positions; ++key) {
      for (std::int64_t query = 0; query < a_.positions; ++query)
        unseen.push_back(key > query ? kUnseen : 0.0F);
    }
    return nodes_.floats(name_ + kMask, {a_.positions, a_.positions}, unseen);
  }

  OnnxNodes& nodes_;
  const Attention a_;
  const std::string name_;
};

bool has_constant(const onnx::GraphProto& graph, const std::string& name) {
  return std::ranges::any_of(graph.initializer(),
                             [&](const auto& constant) { return constant.name() == name; });
}

}  // namespace

void add_attention(OnnxNodes& nodes, const Layer& layer, const std::string& name,
                   const std::string& input, const Shape& in) {
  AttentionWriter(nodes, layer, name, in).write(input, in);
}

Result<OnnxAttention> read_attention(const onnx::GraphProto& graph, int first,
                                     const OnnxConstants& constants, const Shape& in) {
  const onnx::NodeProto& begin = graph.node(first);
  if (!begin.name().ends_with(kFlat) || begin.input_size() != 2)
    return refuse("Reshape is not as detol writes it");
  OnnxAttention found{.layer = {.kind = LayerKind::kAttention},
                      .name = begin.name().substr(0, begin.name().size() - kFlat.size())};
  DETOL_ASSIGN(const Integers heads, constants.integers(found.name + kQueries + ".heads" + kShape));
  DETOL_ASSIGN(const Integers keys, constants.integers(found.name + kKeys + kChannels));
  if (heads.size() != 4 || heads[1] < 1 || heads[2] < 1 || keys.empty())
    return refuse("its heads are not as detol writes them");
  found.layer.heads = heads[1];
  found.layer.key_heads = (keys.back() + 1) / heads[2] - heads[1];
  found.layer.causal = has_constant(graph, found.name + kMask);
  found.layer.rotary = has_constant(graph, found.name + kKeys + kSwap);
  DETOL_TRY(output_shape(found.layer, std::span(&in, 1)));
  // These are as large as the file, so that a small one cannot need much memory.
  const std::int64_t positions = in.height * in.width;
  if (found.layer.causal) DETOL_TRY(constants.floats(found.name + kMask, {positions, positions}));
  if (found.layer.rotary)
    DETOL_TRY(constants.floats(found.name + kKeys + ".cosines", {heads[2], positions}));
  onnx::GraphProto expected;
  OnnxNodes nodes(expected);
  add_attention(nodes, found.layer, found.name, begin.input(0), in);
  found.nodes = expected.node_size();
  const int last = first + found.nodes - 1;
  if (last >= graph.node_size() || graph.node(last).output_size() != 1)
    return refuse("its graph ends within an attention");
  // The last node of a graph is called as its output is.
  expected.mutable_node(found.nodes - 1)->set_output(0, graph.node(last).output(0));
  DETOL_TRY(has_nodes(graph, first, expected));
  return found;
}

}  // namespace detol::inline exporting

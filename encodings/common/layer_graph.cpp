#include "encodings/common/layer_graph.h"

#include <bit>
#include <initializer_list>

#include "core/hash.h"

namespace detol::inline encoding {
namespace {

enum class Detail { kKinds, kWindows, kLayers };

// True if the layer changes each number by itself, or none.
bool is_elementwise(LayerKind kind) {
  switch (row_of(kind).role) {
    case LayerRole::kBatchNorm:
    case LayerRole::kChannelNorm:
    case LayerRole::kElementwise:
    case LayerRole::kReshape:
      return true;
    default:
      return false;
  }
}

std::uint64_t hashed(std::initializer_list<std::int64_t> values) {
  std::uint64_t hash = 0;
  for (const std::int64_t value : values)
    hash = hash_combine(hash, static_cast<std::uint64_t>(value));
  return hash;
}

// Returns 0 for one group, 1 for a depthwise convolution, else 2.
std::int64_t grouping_of(const Layer& layer) {
  if (layer.groups == 1) return 0;
  return layer.groups == layer.channels ? 1 : 2;
}

std::uint64_t layer_label(const Node& node, Detail detail, bool is_output) {
  const Layer& l = node.layer;
  const auto drawing = static_cast<std::int64_t>(detail), kind = static_cast<std::int64_t>(l.kind);
  if (detail == Detail::kKinds) return hashed({drawing, kind});
  if (detail == Detail::kWindows) return hashed({drawing, kind, l.kernel, l.stride});
  const std::int64_t width = is_output ? 0 : std::bit_width(static_cast<std::uint64_t>(l.channels));
  if (l.kind == LayerKind::kAttention)
    return hashed({drawing, kind, l.heads, l.key_heads, l.causal ? 1 : 0, l.rotary ? 1 : 0});
  return hashed({drawing, kind, width, l.kernel, l.kernel_height, l.stride, l.dilation,
                 grouping_of(l), l.bias ? 1 : 0, static_cast<std::int64_t>(l.activation)});
}

void draw(std::span<const Node> nodes, Detail detail, LabelledGraph& graph) {
  std::vector<std::vector<std::size_t>> vertices(nodes.size());  // whose outputs a node gives
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::size_t> read;
    for (const NodeId input : nodes[i].inputs)
      read.insert(read.end(), vertices[input].begin(), vertices[input].end());
    if (detail != Detail::kLayers && is_elementwise(nodes[i].layer.kind)) {
      vertices[i] = std::move(read);
      continue;
    }
    const std::size_t vertex = graph.labels.size();
    graph.labels.push_back(layer_label(nodes[i], detail, i + 1 == nodes.size()));
    for (const std::size_t from : read) graph.edges.emplace_back(from, vertex);
    vertices[i] = {vertex};
  }
}

}  // namespace

LabelledGraph layer_graph(std::span<const Node> nodes) {
  LabelledGraph graph;
  for (const Detail detail : {Detail::kKinds, Detail::kWindows, Detail::kLayers})
    draw(nodes, detail, graph);
  return graph;
}

}  // namespace detol::inline encoding

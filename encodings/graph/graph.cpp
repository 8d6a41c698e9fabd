// Encoding `graph`: a free directed acyclic graph of operations between an input and an output. Any
// vertex may be wired to any later one, with at most `edges` edges in use; a skeleton repeats the
// graph (NAS-Bench-101: Ying et al., 2019, arXiv 1902.09635). With one stage of one cell the graph
// is the network.
//
//   conv3 - bn - relu - cells_per_stage cells [- max_pool 2 - cells_per_stage cells]... - head
//
// Every stage after the first has twice the channels. A vertex joins the tensors that its edges
// bring, and applies its operation to the result; the output only joins. The values of `join`:
//
//   add          the sum. The cell's input passes a 1x1 conv - bn - relu where it has not the
//                stage's channels, so that every tensor of a cell has them
//   concat       one after another, by the number of their vertices; before an operation that keeps
//                channels, a 1x1 conv - bn - relu reduces them to the stage's, or they would
//                multiply from vertex to vertex
//   per_node     add or concat, a choice of each vertex
//   nasbench101  vertices add, the output concatenates. If k vertices lead to the output, each
//                makes 1/k of the stage's channels, rounded up; the cell's input passes a 1x1 conv
//                - bn - relu of its own wherever it is added, also when it is added to the
//                concatenated output. The only difference from NAS-Bench-101: it rounds down, gives
//                the remaining channels to the first vertices and truncates where summands then
//                differ by a channel
//
// Operations of stride 2 make tensors of different sizes, which join.h reconciles.

#include "encodings/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "encodings/common/join.h"
#include "encodings/common/macro.h"
#include "encodings/common/stem_and_head.h"
#include "encodings/graph/graph_operations.h"
#include "encodings/graph/graph_rules.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;

// Vertex: one vertex of the graph, equal in all cells.
struct Vertex {
  std::size_t index = 0;
  std::vector<std::size_t> inputs;
  const VertexOperation* operation = nullptr;  // null: the output
  JoinKind join = JoinKind::kAdd;
};

// Graph: the vertices in use after the input, the output last.
struct Graph {
  std::vector<Vertex> vertices;
  bool is_nasbench101 = false;

  const Vertex& output() const { return vertices.back(); }
};

Vertex vertex_of(const json& section, std::size_t index, const std::string& join) {
  Vertex vertex;
  vertex.index = index;
  if (section.contains("op")) {
    const std::span<const VertexOperation> rows(kVertexOperations);
    vertex.operation = find_row(rows, section.at("op").get<std::string>());
  }
  const bool is_concat = section.value("join", join) == "concat" ||
                         (join == "nasbench101" && vertex.operation == nullptr);
  vertex.join = is_concat ? JoinKind::kConcat : JoinKind::kAdd;
  return vertex;
}

Graph graph_of(const json& section) {
  const std::string join = section.value("join", "add");
  const json& vertices = section.at("node");
  Graph graph{{}, join == "nasbench101"};
  const Wiring wiring = wiring_of(vertices);
  for (const auto& [from, to] : wiring.used_edges()) {
    if (graph.vertices.empty() || graph.vertices.back().index != to)
      graph.vertices.push_back(vertex_of(vertices[to], to, join));
    graph.vertices.back().inputs.push_back(from);
  }
  return graph;
}

// Adds 1x1 conv - bn - relu.
NodeId projected(NetworkBuilder& builder, NodeId input, std::int64_t channels,
                 const std::string& scope) {
  Path path(builder, input, scope);
  path.conv({.channels = channels}, "conv");
  path.batch_norm("bn");
  path.activate(Activation::kRelu, "relu");
  return path.end();
}

// Cell adds one copy of the graph to the network.
class Cell {
 public:
  Cell(NetworkBuilder& builder, const Graph& graph, std::string scope, std::int64_t channels)
      : builder_(builder), graph_(graph), scope_(std::move(scope)), channels_(channels) {}

  NodeId add(NodeId input) {
    return graph_.is_nasbench101 ? add_as_nasbench101(input) : add_plainly(input);
  }

 private:
  NodeId add_plainly(NodeId input) {
    const bool fits = builder_.shape(input).channels == channels_;
    tensors_[0] = fits ? input : projected(builder_, input, channels_, scope_ + ".input");
    for (const Vertex& vertex : graph_.vertices) {
      std::vector<NodeId> inputs;
      for (std::size_t from : vertex.inputs) inputs.push_back(tensors_[from]);
      operate(vertex, join(builder_, vertex.join, std::move(inputs), scope_of(vertex)), channels_);
    }
    return tensors_[graph_.output().index];
  }

  NodeId add_as_nasbench101(NodeId input) {
    const auto parts = static_cast<std::int64_t>(
        std::ranges::count_if(graph_.output().inputs, [](std::size_t from) { return from > 0; }));
    const std::int64_t width = parts == 0 ? channels_ : (channels_ + parts - 1) / parts;
    for (const Vertex& vertex : graph_.vertices) {
      const std::string scope = scope_of(vertex);
      std::vector<NodeId> inputs;
      for (std::size_t from : vertex.inputs) {
        if (from > 0) inputs.push_back(tensors_[from]);
      }
      const bool is_output = vertex.operation == nullptr;
      const std::int64_t channels = is_output ? width * std::max<std::int64_t>(parts, 1) : width;
      if (is_output && !inputs.empty())
        inputs = {join(builder_, JoinKind::kConcat, std::move(inputs), scope + ".parts")};
      if (vertex.inputs.front() == 0)
        inputs.push_back(projected(builder_, input, channels, scope + ".input"));
      operate(vertex, join(builder_, JoinKind::kAdd, std::move(inputs), scope), channels);
    }
    return tensors_[graph_.output().index];
  }

  void operate(const Vertex& vertex, NodeId joined, std::int64_t channels) {
    tensors_[vertex.index] = joined;
    if (vertex.operation == nullptr) return;
    const bool fits =
        sets_channels(*vertex.operation) || builder_.shape(joined).channels == channels;
    if (!fits) joined = projected(builder_, joined, channels, scope_of(vertex) + ".squeeze");
    Path path(builder_, joined, scope_of(vertex));
    add_vertex_operation(path, *vertex.operation, channels);
    tensors_[vertex.index] = path.end();
  }

  std::string scope_of(const Vertex& vertex) const {
    return fmt::format("{}.node{}", scope_, vertex.index);
  }

  NetworkBuilder& builder_;
  const Graph& graph_;
  std::string scope_;
  std::int64_t channels_;
  std::array<NodeId, Wiring::kMaxVertices> tensors_{};  // the output of each vertex
};

// Adds a pool that halves the size in every direction that is longer than one.
void add_reduction(Path& path, const std::string& scope) {
  const auto window = [](std::int64_t size) { return std::min<std::int64_t>(size, 2); };
  const Shape image = path.shape();
  if (image.height == 1 && image.width == 1) return;
  path.enter(scope);
  path.add({.kind = LayerKind::kMaxPool,
            .kernel = window(image.width),
            .kernel_height = window(image.height),
            .stride = 2},
           "pool");
}

}  // namespace

Result<Network> decode_graph(const json& architecture, const Task& task) {
  const Macro macro = macro_of(architecture, {});
  const Graph graph = graph_of(architecture.at("graph"));
  if (graph.vertices.empty())
    return fail(ErrorCode::kInput, "architecture.graph: no path leads from input to output");
  NetworkBuilder builder(task.input);
  Path path(builder, builder.input(), "");
  add_stem(path, {{"channels", macro.channels}, {"stride", macro.stem_stride}});
  std::int64_t channels = macro.channels;
  for (std::int64_t stage = 0; stage < macro.stages; ++stage) {
    if (stage > 0) {
      add_reduction(path, fmt::format("stages.{}", stage));
      channels *= 2;
    }
    for (std::int64_t i = 0; i < macro.cells_per_stage; ++i) {
      Cell cell(builder, graph, fmt::format("stages.{}.{}", stage, i), channels);
      path.jump_to(cell.add(path.end()));
    }
  }
  add_head(path, architecture.value("head", json::object()), task.classes);
  return builder.build(path.end());
}

}  // namespace detol::inline encoding

// The graph of encoding `graph`: its vertices in use, labelled with their operations and, under
// `join: per_node`, with how they join. A `skip_connect` of one tensor is that tensor, except under
// `join: nasbench101`, where it may be a convolution or a part of the output.

#include "encodings/space/labelled_graph.h"

#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "encodings/common/graph_builder.h"
#include "encodings/common/parameter_reference.h"
#include "encodings/graph/graph.h"
#include "encodings/graph/wiring.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;
using Codes = std::span<const double>;

std::uint64_t label_in(const Value& word) {
  return label_of(std::get<std::string>(word));
}

struct LabelledVertex {
  ParameterReference<std::uint64_t> operation;
  ParameterReference<std::uint64_t> join;
  std::vector<ParameterReference<bool>> from;
};

struct Vertices {
  std::vector<LabelledVertex> all;  // the first, the input, has no edges
  bool skips = true;                // a skip_connect of one tensor is that tensor
};

LabelledVertex vertex_of(const json& section, const Space& space) {
  LabelledVertex vertex{
      {section_value_at(section, "op", space), space, label_in, label_of("output")},
      {section_value_at(section, "join", space), space, label_in, 0},
      {}};
  for (const json& edge : section.value("from", json::array())) {
    vertex.from.emplace_back(section_value(edge, space), space,
                             [](const Value& is_there) { return std::get<bool>(is_there); });
  }
  return vertex;
}

Wiring wiring_of(const std::vector<LabelledVertex>& vertices, Codes codes) {
  Wiring wiring(vertices.size());
  for (std::size_t to = 1; to < vertices.size(); ++to) {
    for (std::size_t from = 0; from < to; ++from)
      wiring.set({from, to}, vertices[to].from[from].in(codes));
  }
  return wiring;
}

LabelledGraph graph_of(const Vertices& vertices, Codes codes) {
  static const std::uint64_t kInput = label_of("input"), kSkip = label_of("skip_connect");
  const Wiring wiring = wiring_of(vertices.all, codes);
  std::vector<GraphBuilder::Tensor> inputs(wiring.size());
  std::vector<GraphBuilder::Vertex> ends(wiring.size());
  GraphBuilder graph;
  ends[0] = graph.add(kInput, {});
  const Wiring::Vertices used = wiring.used();
  for (std::size_t to = 1; to < wiring.size(); ++to) {
    if (!Wiring::contains(used, to)) continue;
    GraphBuilder::Tensor tensor;
    for (std::size_t from = 0; from < to; ++from) {
      if (Wiring::contains(used, from) && wiring.has({from, to})) tensor.push_back(ends[from]);
    }
    std::uint64_t label = vertices.all[to].operation.in(codes);
    const std::uint64_t join = vertices.all[to].join.in(codes);
    if (join != 0 && tensor.size() > 1) label = hash_combine(label, join);
    const bool is_skip = vertices.skips && label == kSkip && tensor.size() == 1;
    ends[to] = is_skip ? tensor.front() : graph.add(label, tensor);
  }
  return graph.build({ends.back()});
}

}  // namespace

GraphOfCodes labelled_graph(const json& architecture, const Space& space) {
  const json& section = architecture.at("graph");
  Vertices vertices{{}, section.value("join", "add") != "nasbench101"};
  for (const json& vertex : section.at("node")) vertices.all.push_back(vertex_of(vertex, space));
  return [vertices = std::move(vertices)](Codes codes) { return graph_of(vertices, codes); };
}

}  // namespace detol::inline encoding

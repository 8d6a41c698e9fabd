// The choices that a graph's section implies: an operation for every inner vertex, a bool for every
// edge; and the text under which tables of architectures list a graph.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "encodings/graph/graph.h"
#include "encodings/graph/graph_rules.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxOrderedVertices = 8;  // 6! orders of the inner ones

// ImpliedChoices collects domains and returns the {"$": name} that stands for each.
class ImpliedChoices {
 public:
  std::size_t next() const { return implied_.size(); }

  json add_words(std::string name, const std::vector<std::string>& words) {
    Domain domain;
    domain.name = std::move(name);
    domain.kind = DomainKind::kCategorical;
    domain.choices.assign(words.begin(), words.end());
    return add(std::move(domain));
  }

  json add_bool(std::string name) {
    Domain domain;
    domain.name = std::move(name);
    domain.kind = DomainKind::kBool;
    return add(std::move(domain));
  }

  std::vector<Domain> taken() && { return std::move(implied_); }

 private:
  json add(Domain domain) {
    json stands = {{"$", domain.name}};
    implied_.push_back(std::move(domain));
    return stands;
  }

  std::vector<Domain> implied_;
};

json imply_vertex(ImpliedChoices& choices, GraphLayout::Vertex& vertex, std::size_t index,
                  const json& graph) {
  const std::string name = fmt::format("architecture.graph.node[{}]", index);
  const bool is_output = index + 1 == graph.at("nodes");
  json made = json::object();
  if (!is_output) {
    vertex.operation = choices.next();
    made["op"] = choices.add_words(name + ".op", graph.at("operations"));
  }
  if (graph.value("join", "add") == "per_node" && index > 1) {
    vertex.join = choices.next();
    made["join"] = choices.add_words(name + ".join", {"add", "concat"});
  }
  vertex.first_edge = choices.next();
  for (std::size_t from = 0; from < index; ++from)
    made["from"].push_back(choices.add_bool(fmt::format("{}.from[{}]", name, from)));
  return made;
}

// The vertices in use and what they do: "input", their operation, "output".
struct Described {
  std::vector<std::string> words;
  std::vector<std::vector<bool>> inputs;  // of each vertex: which earlier ones lead to it
};

Described described(const json& vertices) {
  const Wiring wiring = wiring_of(vertices);
  const Wiring::Vertices used = wiring.used();
  Described graph;
  std::vector<std::size_t> kept;
  for (std::size_t to = 0; to < wiring.size(); ++to) {
    if (!Wiring::contains(used, to)) continue;
    graph.words.push_back(vertices[to].value("op", to == 0 ? "input" : "output"));
    std::vector<bool> inputs;
    for (std::size_t from : kept) inputs.push_back(wiring.has({from, to}));
    graph.inputs.push_back(std::move(inputs));
    kept.push_back(to);
  }
  return graph;
}

// Returns the text of the vertices in this order; empty if an edge would lead back.
std::string text_of(const Described& graph, const std::vector<std::size_t>& order) {
  const auto has = [&](std::size_t from, std::size_t to) {
    return from < to && graph.inputs[to][from];
  };
  std::string words, matrix;
  for (std::size_t row = 0; row < order.size(); ++row) {
    words += (row == 0 ? "" : ",") + graph.words[order[row]];
    matrix += row == 0 ? '|' : ',';
    for (std::size_t column = 0; column < order.size(); ++column) {
      const bool is_edge = has(order[row], order[column]);
      if (is_edge && column < row) return {};
      matrix += is_edge ? '1' : '0';
    }
  }
  return words + matrix;
}

}  // namespace

Wiring wiring_of(const json& vertices) {
  Wiring wiring(vertices.size());
  for (std::size_t to = 1; to < vertices.size(); ++to) {
    const json& from = vertices[to].at("from");
    for (std::size_t i = 0; i < from.size(); ++i) wiring.set({i, to}, from[i].get<bool>());
  }
  return wiring;
}

Result<Implied> imply_graph(json& architecture) {
  json& graph = architecture.at("graph");
  const std::size_t nodes = graph.at("nodes");
  const std::size_t possible = nodes * (nodes - 1) / 2;
  GraphLayout layout;
  layout.vertices.resize(nodes);
  layout.max_edges = graph.value("edges", possible);
  if (layout.max_edges > possible) {
    return fail(ErrorCode::kInput,
                fmt::format("architecture.graph.edges: {} nodes have room for {} edges, not {}",
                            nodes, possible, layout.max_edges));
  }
  ImpliedChoices choices;
  json vertices = json::array({json::object()});
  for (std::size_t index = 1; index < nodes; ++index)
    vertices.push_back(imply_vertex(choices, layout.vertices[index], index, graph));
  graph["node"] = std::move(vertices);
  return Implied{std::move(choices).taken(), std::make_shared<GraphRules>(std::move(layout))};
}

std::string graph_key(const json& architecture) {
  const Described graph = described(architecture.at("graph").at("node"));
  std::vector<std::size_t> order(graph.words.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::string smallest = text_of(graph, order);
  if (order.size() > kMaxOrderedVertices) return smallest;
  while (std::next_permutation(order.begin() + 1, order.end() - 1)) {
    std::string text = text_of(graph, order);
    if (!text.empty() && text < smallest) smallest = std::move(text);
  }
  return smallest;
}

}  // namespace detol::inline encoding

#include "encodings/network/network.h"

#include <fmt/format.h>

#include <set>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <boost/graph/topological_sort.hpp>

namespace detol::inline encoding {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;

Graph graph_of(std::span<const Node> nodes) {
  Graph graph(nodes.size());
  for (NodeId id = 0; id < nodes.size(); ++id) {
    for (NodeId input : nodes[id].inputs) boost::add_edge(input, id, graph);
  }
  return graph;
}

// Marks the vertices that a breadth-first search from `start` reaches.
template <typename AnyGraph>
std::vector<bool> reached_from(NodeId start, const AnyGraph& graph) {
  std::vector<boost::default_color_type> colors(boost::num_vertices(graph), boost::white_color);
  const auto map =
      boost::make_iterator_property_map(colors.begin(), boost::get(boost::vertex_index, graph));
  boost::breadth_first_search(graph, start, boost::color_map(map));
  std::vector<bool> reached;
  reached.reserve(colors.size());
  for (auto color : colors) reached.push_back(color != boost::white_color);
  return reached;
}

}  // namespace

std::vector<Shape> Network::input_shapes(NodeId node) const {
  std::vector<Shape> shapes;
  for (NodeId input : nodes_[node].inputs) shapes.push_back(nodes_[input].shape);
  return shapes;
}

std::vector<NetworkParameter> Network::parameters() const {
  std::vector<NetworkParameter> all;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    for (ParameterSpec& spec : parameters_of(nodes_[id].layer, input_shapes(id))) {
      all.push_back({id, fmt::format("{}.{}", nodes_[id].name, spec.name), std::move(spec)});
    }
  }
  return all;
}

NetworkBuilder::NetworkBuilder(Shape input) {
  nodes_.push_back({.layer = {}, .inputs = {}, .shape = input, .name = "input"});
}

NodeId NetworkBuilder::add(Layer layer, std::vector<NodeId> inputs, std::string name) {
  if (layer.kernel_height == layer.kernel) layer.kernel_height = 0;
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (NodeId input : inputs) shapes.push_back(nodes_.at(input).shape);
  const NodeId id = nodes_.size();
  if (name.empty()) name = fmt::format("{}{}", to_text(layer.kind), id);
  const Result<Shape> shape = output_shape(layer, shapes);
  if (!shape && status_) status_ = fail(shape.error().code, name + ": " + shape.error().message);
  nodes_.push_back({layer, std::move(inputs), shape.value_or(Shape{1, 1, 1}), std::move(name)});
  return id;
}

Result<Network> NetworkBuilder::build(NodeId output) const {
  DETOL_TRY(status_);
  const Graph graph = graph_of(nodes_);
  const std::vector<bool> forward = reached_from(input(), graph);
  const std::vector<bool> backward = reached_from(output, boost::make_reverse_graph(graph));
  if (!forward[output])
    return fail(ErrorCode::kInput, "the network's output does not depend on its input");

  std::vector<NodeId> reversed;
  boost::topological_sort(graph, std::back_inserter(reversed));
  Network network;
  std::vector<NodeId> position(nodes_.size(), 0);
  std::set<std::string> names;
  for (auto id = reversed.rbegin(); id != reversed.rend(); ++id) {
    if (!backward[*id]) continue;
    if (!forward[*id]) {
      return fail(ErrorCode::kInput, nodes_[*id].name + " does not depend on the network's input");
    }
    position[*id] = network.nodes_.size();
    Node node = nodes_[*id];
    if (!names.insert(node.name).second) {
      return fail(ErrorCode::kInternal, "two layers are called " + node.name);
    }
    for (NodeId& before : node.inputs) before = position[before];
    network.nodes_.push_back(std::move(node));
  }
  return network;
}

}  // namespace detol::inline encoding

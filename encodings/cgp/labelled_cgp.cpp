// The graph of encoding `cgp`: a vertex for every node that leads to the output, labelled with its
// function. A join of a node with itself is that node.

#include <nlohmann/json.hpp>

#include "encodings/cgp/cgp.h"
#include "encodings/cgp/cgp_grid.h"
#include "encodings/common/graph_builder.h"
#include "encodings/space/space.h"

namespace detol::inline encoding {
namespace {

using Codes = std::span<const double>;  // the codes of the grid's genes alone

struct CgpLabels {
  std::vector<std::uint64_t> functions;  // indexed by the function gene
  std::uint64_t input, output;
};

class CgpGraphBuilder {
 public:
  CgpGraphBuilder(const CgpGrid& grid, const CgpLabels& labels, Codes codes)
      : grid_(grid), labels_(labels), codes_(codes) {}

  LabelledGraph build() {
    const int output = source(grid_.nodes(), 0);
    const std::vector<bool> needed = needed_for(output);
    ends_.resize(needed.size());
    input_ = graph_.add(labels_.input, {});
    for (int node = 0; node < grid_.nodes(); ++node) {
      if (needed[static_cast<std::size_t>(node)]) ends_[static_cast<std::size_t>(node)] = add(node);
    }
    return graph_.build({graph_.add(labels_.output, {end_of(output)})});
  }

 private:
  std::size_t function_of(int node) const {
    return static_cast<std::size_t>(codes_[3 * static_cast<std::size_t>(node)]);
  }

  bool joins(int node) const { return grid_.functions[function_of(node)].joins(); }

  // Returns the source of an input. Node grid.nodes() is the output, which has no function.
  int source(int node, std::size_t input) const {
    const std::size_t first = 3 * static_cast<std::size_t>(node) + (node < grid_.nodes() ? 1 : 0);
    return grid_.source(grid_.column_of(node), static_cast<int>(codes_[first + input]));
  }

  std::vector<bool> needed_for(int output) const {
    std::vector<bool> needed(static_cast<std::size_t>(grid_.nodes()), false);
    const auto mark = [&](int source) {
      if (source != CgpGrid::kInput) needed[static_cast<std::size_t>(source)] = true;
    };
    mark(output);
    for (int node = grid_.nodes() - 1; node >= 0; --node) {
      if (!needed[static_cast<std::size_t>(node)]) continue;
      mark(source(node, 0));
      if (joins(node)) mark(source(node, 1));
    }
    return needed;
  }

  GraphBuilder::Vertex end_of(int source) const {
    return source == CgpGrid::kInput ? input_ : ends_[static_cast<std::size_t>(source)];
  }

  GraphBuilder::Vertex add(int node) {
    const std::uint64_t label = labels_.functions[function_of(node)];
    const GraphBuilder::Vertex one = end_of(source(node, 0));
    if (!joins(node)) return graph_.add(label, {one});
    const GraphBuilder::Vertex other = end_of(source(node, 1));
    return one == other ? one : graph_.add(label, {one, other});
  }

  const CgpGrid& grid_;
  const CgpLabels& labels_;
  const Codes codes_;
  GraphBuilder graph_;
  GraphBuilder::Vertex input_ = 0;
  std::vector<GraphBuilder::Vertex> ends_;  // the vertex of every node that was added
};

}  // namespace

GraphOfCodes labelled_cgp(const nlohmann::json& architecture, const Space& space) {
  CgpGrid grid = cgp_grid_of(architecture.at("cgp")).value();  // imply_cgp has read it before
  CgpLabels labels{{}, label_of("input"), label_of("output")};
  for (const CgpFunction& function : grid.functions)
    labels.functions.push_back(label_of(function.word));
  const std::size_t first = *space.index_of("architecture.cgp.node[0].op");
  return [grid = std::move(grid), labels = std::move(labels), first](Codes codes) {
    return CgpGraphBuilder(grid, labels, codes.subspan(first)).build();
  };
}

}  // namespace detol::inline encoding

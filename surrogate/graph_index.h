#pragma once

// GraphIndex: an inverted index of graphs by their labels. The kernel of one graph with all of them
// visits only the labels they share: 3 us for 500 cells of NAS-Bench-201, where pairs take 45.
// Values are those of graph_kernel() to the last bit. Not thread-safe while it changes.
//
//   label conv at level 0: graph 0 twice, graph 3 once, ...

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "surrogate/graph_features.h"

namespace detol::inline surrogate {

class GraphIndex {
 public:
  std::size_t size() const { return norms_.size(); }
  void push_back(const GraphFeatures& graph);
  void pop_back(const GraphFeatures& last);  // REQUIRES: it is the last

  // Sets out[i] = graph_kernel(graph, i-th graph, depth) for the first out.size() graphs.
  void kernels(const GraphFeatures& graph, int depth, std::span<double> out) const;

 private:
  struct Posting {
    std::uint32_t graph;
    float count;
  };

  // For each level and label: the graphs that have the label, in their order.
  std::array<std::unordered_map<std::uint64_t, std::vector<Posting>>, GraphFeatures::kLevels>
      levels_;
  std::vector<std::array<double, GraphFeatures::kLevels>> norms_;
};

}  // namespace detol::inline surrogate

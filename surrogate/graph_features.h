#pragma once

// GraphFeatures: the features of a graph for the Weisfeiler-Lehman subtree kernel (Shervashidze et
// al., 2011, JMLR 12, "Weisfeiler-Lehman Graph Kernels"; for architectures Ru et al., 2021,
// "NAS-BOWL", arXiv 2006.07556). Level 0 counts the labels of the vertices; level h counts the
// labels that h rounds of hashing a vertex's label with those of its predecessors and those of its
// successors give. Features of isomorphic graphs are equal. They take a few microseconds, a kernel
// value much less than one.

#include <array>
#include <cstdint>
#include <vector>

#include "encodings/space/labelled_graph.h"

namespace detol::inline surrogate {

struct GraphFeatures {
  static constexpr int kLevels = 4;  // h = 0, 1, 2, 3

  struct Count {
    std::uint64_t label = 0;
    double count = 0;
    friend bool operator==(const Count& a, const Count& b) = default;
  };
  std::array<std::vector<Count>, kLevels> levels;  // each sorted by label
  std::array<double, kLevels> norms{};             // Euclidean, of the counts of levels 0 to h

  friend bool operator==(const GraphFeatures& a, const GraphFeatures& b) = default;
};

GraphFeatures graph_features(const LabelledGraph& graph);

// Returns the normalised kernel of all levels up to `depth`: 1 for graphs with equal features, at
// least 0.
// REQUIRES: neither graph is empty; 0 <= depth < kLevels.
double graph_kernel(const GraphFeatures& a, const GraphFeatures& b, int depth);

// Returns graph_kernel() of each depth, for the price of the deepest.
std::array<double, GraphFeatures::kLevels> graph_kernels(const GraphFeatures& a,
                                                         const GraphFeatures& b);

}  // namespace detol::inline surrogate

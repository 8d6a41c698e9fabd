#pragma once

// LabelledGraph: a directed graph whose vertices have labels, by which kernels compare candidate
// architectures. A value type.
//
// Each encoding defines the graphs of its candidates (labelled_<encoding>.cpp): the operations that
// a network is made from, in the order in which tensors pass them. A label is the hash of a
// word ("conv_3x3"). Networks that are equal but for the order of their nodes have isomorphic
// graphs. Operations that do not lead to the output and continuous choices are no part of them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace detol::inline encoding {

struct LabelledGraph {
  std::vector<std::uint64_t> labels;                       // one per vertex
  std::vector<std::pair<std::size_t, std::size_t>> edges;  // from, to; parallel edges count

  friend bool operator==(const LabelledGraph& a, const LabelledGraph& b) = default;
};

// GraphOfCodes returns the graph of the genome with these codes, one for each domain of its space.
// Pure; safe from any thread.
using GraphOfCodes = std::function<LabelledGraph(std::span<const double> codes)>;

}  // namespace detol::inline encoding

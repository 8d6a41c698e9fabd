#pragma once

// LabelledGraph: a directed graph whose nodes have labels, by which kernels compare candidate
// architectures. A value type.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace detol {

struct LabelledGraph {
  std::vector<std::uint64_t> labels;                       // one per node
  std::vector<std::pair<std::size_t, std::size_t>> edges;  // from, to

  friend bool operator==(const LabelledGraph& a, const LabelledGraph& b) = default;
};

}  // namespace detol

#include "surrogate/graph_index.h"

#include <algorithm>

namespace detol::inline surrogate {

void GraphIndex::push_back(const GraphFeatures& graph) {
  const auto place = static_cast<std::uint32_t>(norms_.size());
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    for (const auto& [label, count] : graph.levels[level])
      levels_[level][label].push_back({place, static_cast<float>(count)});
  }
  norms_.push_back(graph.norms);
}

void GraphIndex::pop_back(const GraphFeatures& last) {
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    for (const auto& [label, count] : last.levels[level]) {
      const auto found = levels_[level].find(label);
      found->second.pop_back();
      if (found->second.empty()) levels_[level].erase(found);
    }
  }
  norms_.pop_back();
}

void GraphIndex::kernels(const GraphFeatures& graph, int depth, std::span<double> out) const {
  const auto last = static_cast<std::size_t>(depth);
  std::ranges::fill(out, 0.0);
  for (std::size_t level = 0; level <= last; ++level) {
    for (const auto& [label, count] : graph.levels[level]) {
      const auto found = levels_[level].find(label);
      if (found == levels_[level].end()) continue;
      for (const Posting& posting : found->second) {
        if (posting.graph >= out.size()) break;
        out[posting.graph] += count * posting.count;
      }
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] /= graph.norms[last] * norms_[i][last];
}

}  // namespace detol::inline surrogate

// A round of refinement costs one pass over the edges: instead of being sorted, the labels of a
// vertex's neighbours are hashed and added, which is independent of their order, too.

#include "surrogate/graph_features.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/hash.h"

namespace detol::inline surrogate {
namespace {

using Labels = std::vector<std::uint64_t>;
using Counts = std::vector<GraphFeatures::Count>;

Counts counted(Labels labels) {
  std::ranges::sort(labels);
  Counts counts;
  for (std::uint64_t label : labels) {
    if (counts.empty() || counts.back().label != label) counts.push_back({label, 0});
    ++counts.back().count;
  }
  return counts;
}

Labels refined(const LabelledGraph& graph, const Labels& labels) {
  constexpr std::uint64_t kBefore = 1, kBehind = 2;
  Labels before(labels.size(), 0), behind(labels.size(), 0), next(labels.size());
  for (const auto& [from, to] : graph.edges) {
    before[to] += hash_combine(kBefore, labels[from]);
    behind[from] += hash_combine(kBehind, labels[to]);
  }
  for (std::size_t i = 0; i < labels.size(); ++i)
    next[i] = hash_combine(hash_combine(labels[i], before[i]), behind[i]);
  return next;
}

double squared(const Counts& counts) {
  double sum = 0;
  for (const auto& [label, count] : counts) sum += count * count;
  return sum;
}

double product(const Counts& a, const Counts& b) {
  double sum = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (i->label == j->label) {
      sum += i++->count * j++->count;
    } else if (i->label < j->label) {
      ++i;
    } else {
      ++j;
    }
  }
  return sum;
}

}  // namespace

GraphFeatures graph_features(const LabelledGraph& graph) {
  GraphFeatures features;
  Labels labels = graph.labels;
  double sum = 0;
  for (std::size_t level = 0; level < GraphFeatures::kLevels; ++level) {
    if (level > 0) labels = refined(graph, labels);
    features.levels[level] = counted(labels);
    sum += squared(features.levels[level]);
    features.norms[level] = std::sqrt(sum);
  }
  return features;
}

double graph_kernel(const GraphFeatures& a, const GraphFeatures& b, int depth) {
  const auto last = static_cast<std::size_t>(depth);
  double sum = 0;
  for (std::size_t level = 0; level <= last; ++level) {
    const double shared = product(a.levels[level], b.levels[level]);
    if (shared == 0) break;  // labels that differ on one level differ on the next
    sum += shared;
  }
  return sum / (a.norms[last] * b.norms[last]);
}

std::array<double, GraphFeatures::kLevels> graph_kernels(const GraphFeatures& a,
                                                         const GraphFeatures& b) {
  std::array<double, GraphFeatures::kLevels> kernels{};
  double sum = 0;
  bool alike = true;  // labels that differ on one level differ on the next
  for (std::size_t level = 0; level < kernels.size(); ++level) {
    const double shared = alike ? product(a.levels[level], b.levels[level]) : 0;
    alike = shared > 0;
    sum += shared;
    kernels[level] = sum / (a.norms[level] * b.norms[level]);
  }
  return kernels;
}

}  // namespace detol::inline surrogate

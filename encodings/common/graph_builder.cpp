#include "encodings/common/graph_builder.h"

#include "core/hash.h"

namespace detol::inline encoding {

std::uint64_t label_of(std::string_view word) {
  return hash64(word);
}

GraphBuilder::Vertex GraphBuilder::add(std::uint64_t label, const Tensor& tensor) {
  const Vertex vertex = graph_.labels.size();
  graph_.labels.push_back(label);
  for (Vertex from : tensor) graph_.edges.emplace_back(from, vertex);
  return vertex;
}

LabelledGraph GraphBuilder::build(const std::vector<Vertex>& outputs) const {
  std::vector<bool> leads(graph_.labels.size(), false);
  for (Vertex output : outputs) leads[output] = true;
  for (auto edge = graph_.edges.rbegin(); edge != graph_.edges.rend(); ++edge)
    leads[edge->first] = leads[edge->first] || leads[edge->second];
  LabelledGraph kept;
  std::vector<Vertex> number(leads.size());
  for (Vertex vertex = 0; vertex < leads.size(); ++vertex) {
    number[vertex] = kept.labels.size();
    if (leads[vertex]) kept.labels.push_back(graph_.labels[vertex]);
  }
  for (const auto& [from, to] : graph_.edges) {
    if (leads[to]) kept.edges.emplace_back(number[from], number[to]);
  }
  return kept;
}

}  // namespace detol::inline encoding

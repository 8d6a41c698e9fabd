#include "encodings/graph/wiring.h"

namespace detol::inline encoding {

void Wiring::set(Edge edge, bool present) {
  const Vertices bit = Vertices{1} << edge.from;
  inputs_[edge.to] = present ? inputs_[edge.to] | bit : inputs_[edge.to] & ~bit;
}

Wiring::Vertices Wiring::reached() const {
  Vertices reached = 1;
  for (std::size_t vertex = 1; vertex < size_; ++vertex) {
    if ((inputs_[vertex] & reached) != 0) reached |= Vertices{1} << vertex;
  }
  return reached;
}

Wiring::Vertices Wiring::leading() const {
  Vertices leading = Vertices{1} << (size_ - 1);
  for (std::size_t vertex = size_; vertex-- > 1;) {
    if (contains(leading, vertex)) leading |= inputs_[vertex];
  }
  return leading;
}

std::vector<Wiring::Edge> Wiring::used_edges() const {
  const Vertices used = this->used();
  std::vector<Edge> edges;
  for (std::size_t to = 1; to < size_; ++to) {
    if (!contains(used, to)) continue;
    for (std::size_t from = 0; from < to; ++from) {
      if (contains(used & inputs_[to], from)) edges.push_back({from, to});
    }
  }
  return edges;
}

}  // namespace detol::inline encoding

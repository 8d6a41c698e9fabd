#pragma once

// Wiring: a directed acyclic graph over numbered vertices, every edge from a lower to a higher one;
// vertex 0 is the input, the last the output. A value type. Private to this folder.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace detol::inline encoding {

class Wiring {
 public:
  static constexpr std::size_t kMaxVertices = 32;
  using Vertices = std::uint32_t;  // a set: bit v for vertex v

  struct Edge {
    std::size_t from, to;
  };

  // REQUIRES: 2 <= vertices <= kMaxVertices.
  explicit Wiring(std::size_t vertices) : size_(vertices) {}

  std::size_t size() const { return size_; }
  bool has(Edge edge) const { return contains(inputs_[edge.to], edge.from); }
  void set(Edge edge, bool present);

  Vertices reached() const;  // those that the input reaches, itself included
  Vertices leading() const;  // those that lead to the output, itself included
  Vertices used() const { return reached() & leading(); }
  bool is_connected() const { return contains(reached(), size_ - 1); }

  // Returns the edges on paths from input to output, by `to`, then `from`.
  std::vector<Edge> used_edges() const;

  static bool contains(Vertices set, std::size_t vertex) { return ((set >> vertex) & 1U) != 0; }

 private:
  std::size_t size_;
  std::array<Vertices, kMaxVertices> inputs_{};  // the inputs of each vertex
};

}  // namespace detol::inline encoding

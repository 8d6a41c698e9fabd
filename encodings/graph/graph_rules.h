#pragma once

// The rules of encoding `graph`: its output depends on its input, and at most max_edges edges are
// in use. Private to this folder.

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "encodings/graph/wiring.h"
#include "encodings/space/architecture_rules.h"

namespace detol::inline encoding {

// GraphLayout stores the positions of a graph's choices among the codes of its rules.
struct GraphLayout {
  struct Vertex {
    std::optional<std::size_t> operation, join;
    std::size_t first_edge = 0;  // the edge from vertex 0; those from 1, 2, ... follow
  };
  std::vector<Vertex> vertices;  // vertex 0 has no choices
  std::size_t max_edges = 0;     // at least 1
};

// Returns the wiring of a section with every choice made; `vertices` is architecture.graph.node.
Wiring wiring_of(const nlohmann::json& vertices);

class GraphRules final : public ArchitectureRules {
 public:
  explicit GraphRules(GraphLayout layout) : layout_(std::move(layout)) {}

  std::string violation(std::span<const double> codes) const override;
  void repair(std::span<double> codes, Rng& rng) const override;
  std::vector<bool> expressed(std::span<const double> codes) const override;

 private:
  Wiring wiring_of(std::span<const double> codes) const;

  GraphLayout layout_;
};

}  // namespace detol::inline encoding

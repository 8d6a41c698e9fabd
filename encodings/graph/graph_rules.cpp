// A vertex counts if it lies on a path from input to output, an edge if both its ends do; nothing
// else is computed. Repair needs one pass over the edges:
//
//   no path       one edge is added, at random among those from a vertex that the input reaches to
//                 one that leads to the output
//   edges > most  edges in use are visited in a random order and cut where a path remains. An edge
//                 that is not cut is needed, and stays so. If too many remain, the graph is a
//                 single path: one more edge leaps over as many vertices as needed.
//
// Space::sample draws every edge with probability 1/2. Draws that obey the rules are kept, so that
// all valid assignments are equally likely but for those that repair adds. With 7 nodes and 9 edges
// 73 of 100 draws are valid, 7 have no path and 20 too many edges; 16 of 100 draws have 9 edges in
// use, against 9 if invalid draws were thrown away as NAS-Bench-101 does (with 12 nodes and 18
// edges: 38 valid; 32 against 9). As most graphs have many edges, repair makes the draws more
// nearly uniform among graphs, though less among adjacency matrices.

#include "encodings/graph/graph_rules.h"

#include <fmt/format.h>

namespace detol::inline encoding {
namespace {

using Edge = Wiring::Edge;

// REQUIRES: the wiring is not connected.
Edge bridging(const Wiring& wiring, Rng& rng) {
  const Wiring::Vertices reached = wiring.reached(), leading = wiring.leading();
  std::vector<Edge> gaps;
  for (std::size_t to = 1; to < wiring.size(); ++to) {
    for (std::size_t from = 0; from < to; ++from) {
      if (Wiring::contains(reached, from) && Wiring::contains(leading, to))
        gaps.push_back({from, to});
    }
  }
  return gaps[rng.below(gaps.size())];
}

void cut_to(Wiring& wiring, std::size_t most, Rng& rng) {
  std::vector<Edge> edges = wiring.used_edges();
  std::size_t count = edges.size();
  rng.shuffle(std::span(edges));
  for (const Edge& edge : edges) {
    if (count <= most) return;
    const Wiring::Vertices used = wiring.used();
    if (!Wiring::contains(used, edge.from) || !Wiring::contains(used, edge.to)) continue;
    wiring.set(edge, false);
    if (wiring.is_connected()) {
      count = wiring.used_edges().size();
    } else {
      wiring.set(edge, true);
    }
  }
}

// REQUIRES: the edges in use are a single path.
void shorten_to(Wiring& wiring, std::size_t most, Rng& rng) {
  const std::vector<Edge> path = wiring.used_edges();
  if (path.size() <= most) return;
  const std::size_t leaped = path.size() - most;  // vertices
  const std::size_t start = rng.below(most);
  wiring.set({path[start].from, path[start + leaped].to}, true);
  wiring.set(path[start + rng.below(leaped + 1)], false);
}

}  // namespace

Wiring GraphRules::wiring_of(std::span<const double> codes) const {
  Wiring wiring(layout_.vertices.size());
  for (std::size_t to = 1; to < wiring.size(); ++to) {
    for (std::size_t from = 0; from < to; ++from)
      wiring.set({from, to}, codes[layout_.vertices[to].first_edge + from] == 1);
  }
  return wiring;
}

std::string GraphRules::violation(std::span<const double> codes) const {
  const Wiring wiring = wiring_of(codes);
  if (!wiring.is_connected()) return "architecture.graph: no path leads from input to output";
  const std::size_t edges = wiring.used_edges().size();
  if (edges <= layout_.max_edges) return {};
  return fmt::format("architecture.graph: {} edges in use, at most {}", edges, layout_.max_edges);
}

void GraphRules::repair(std::span<double> codes, Rng& rng) const {
  Wiring wiring = wiring_of(codes);
  if (!wiring.is_connected()) wiring.set(bridging(wiring, rng), true);
  cut_to(wiring, layout_.max_edges, rng);
  shorten_to(wiring, layout_.max_edges, rng);
  for (std::size_t to = 1; to < wiring.size(); ++to) {
    for (std::size_t from = 0; from < to; ++from)
      codes[layout_.vertices[to].first_edge + from] = wiring.has({from, to}) ? 1 : 0;
  }
}

// Marks the choices of used vertices, and two kinds of edges. An edge from a vertex that the input
// reaches to one that leads to the output makes or breaks a path. An edge from a reached to an
// unreached vertex is absent and must remain so: two such edges may make a path.
std::vector<bool> GraphRules::expressed(std::span<const double> codes) const {
  const Wiring wiring = wiring_of(codes);
  const Wiring::Vertices reached = wiring.reached(), leading = wiring.leading();
  std::vector<bool> counts(codes.size(), false);
  for (std::size_t to = 1; to < wiring.size(); ++to) {
    const GraphLayout::Vertex& vertex = layout_.vertices[to];
    std::size_t inputs = 0;
    for (std::size_t from = 0; from < to; ++from) {
      const bool is_live = Wiring::contains(leading, to) || !Wiring::contains(reached, to);
      counts[vertex.first_edge + from] = Wiring::contains(reached, from) && is_live;
      if (Wiring::contains(reached, from) && wiring.has({from, to})) ++inputs;
    }
    const bool is_used = Wiring::contains(reached & leading, to);
    if (vertex.operation) counts[*vertex.operation] = is_used;
    if (vertex.join) counts[*vertex.join] = is_used && inputs > 1;
  }
  return counts;
}

}  // namespace detol::inline encoding

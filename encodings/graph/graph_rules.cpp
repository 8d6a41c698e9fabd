// A vertex counts if it lies on a path from input to output, an edge if both its ends do; nothing
// else is computed. Repair needs one pass over the edges:
//
//   no path       one edge, at random among those that close the gap between what the input
//                 reaches and what leads to the output
//   edges > most  edges in use are visited in a random order and cut where a path remains. What is
//                 not cut then was needed, and stays so. If too many remain, the graph is a single
//                 path: one more edge leaps over as many vertices as needed.
//
// Space::sample thus draws every edge by a fair coin. Draws that obey the rules are kept, so that
// all right assignments are equally likely but for those that repair adds. Of 7 nodes and 9 edges
// 73 of 100 draws are right, 7 have no path and 20 too many edges; graphs of 9 edges in use come in
// 16 of 100 draws, against 9 if wrong draws were thrown away as NAS-Bench-101 does (of 12 nodes and
// 18 edges: 38 right; 32 against 9). As most graphs have many edges, repair leans towards what is
// uniform among graphs rather than among matrices.

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

// An edge between a vertex that the input reaches and one that leads to the output makes or breaks
// a path. An edge from what the input reaches to what it does not reach is absent and must remain
// so: two such absences may hide one path.
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

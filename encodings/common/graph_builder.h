#pragma once

// GraphBuilder: builds the LabelledGraph of an architecture, from the input to the output. Private
// to encodings/.

#include <string_view>

#include "encodings/space/labelled_graph.h"

namespace detol::inline encoding {

// Returns the label of a word, its hash.
std::uint64_t label_of(std::string_view word);

class GraphBuilder {
 public:
  using Vertex = std::size_t;
  using Tensor = std::vector<Vertex>;  // the sum of these vertices' outputs; empty: none

  // Adds a vertex that takes this tensor.
  Vertex add(std::uint64_t label, const Tensor& tensor);

  // Returns the graph of the vertices that lead to `outputs`.
  LabelledGraph build(const std::vector<Vertex>& outputs) const;

 private:
  LabelledGraph graph_;  // edges sorted by `to`; every `to` is greater than its `from`
};

}  // namespace detol::inline encoding

#pragma once

// Drawing: makes the LabelledGraph of an architecture, from the input to the output. Private to
// encodings/.

#include <string_view>

#include "encodings/space/labelled_graph.h"

namespace detol {

std::uint64_t label_of(std::string_view word);

class Drawing {
 public:
  using Vertex = std::size_t;
  using Tensor = std::vector<Vertex>;  // of which it is the sum; empty: nothing arrives

  // A vertex that takes this tensor.
  Vertex add(std::uint64_t label, const Tensor& tensor);

  // Only what leads to these vertices.
  LabelledGraph leading_to(const std::vector<Vertex>& outputs) const;

 private:
  LabelledGraph graph_;  // edges by `to`, and every `to` after its `from`
};

}  // namespace detol

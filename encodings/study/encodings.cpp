#include "encodings/study/encodings.h"

#include <array>

#include "encodings/cell/cell.h"
#include "encodings/cgp/cgp.h"
#include "encodings/chain/chain.h"
#include "encodings/graph/graph.h"

namespace detol::inline encoding {

std::span<const EncodingRow> encodings() {
  static const std::array kEncodings = {
      EncodingRow{"chain", "a stem, stages of equal blocks and a head, one after another",
                  chain_schema(), imply_chain, decode_chain, nullptr, labelled_chain},
      EncodingRow{"cell", "one small graph of operations, repeated in a fixed skeleton",
                  cell_schema(), imply_cell, decode_cell, cell_key, labelled_cell},
      EncodingRow{"cgp", "Cartesian genetic programming: blocks and joins on a grid, freely wired",
                  cgp_schema(), imply_cgp, decode_cgp, nullptr, labelled_cgp},
      EncodingRow{"graph", "a free graph of operations, alone or repeated in a fixed skeleton",
                  graph_schema(), imply_graph, decode_graph, graph_key, labelled_graph},
  };
  return kEncodings;
}

}  // namespace detol::inline encoding

#pragma once

// Space files of encoding `cell` for the tests.

#include <fmt/format.h>

#include <string>

namespace detol {

// A file whose architecture has these sections `cell` and `macro`.
inline std::string cell_file(const std::string& cell, const std::string& macro = "{}") {
  return fmt::format(
      "version: 1\nstudy: s\ndata: {{format: idx, path: /data}}\n"
      "architecture: {{type: cell, cell: {}, macro: {}}}\n"
      "training: {{epochs: 2}}\nobjectives: [{{metric: val_loss, direction: minimize}}]\n",
      cell, macro);
}

inline const std::string kNb201Cell =
    "{nodes: 4, edges: op_on_edge, "
    "operations: [none, skip_connect, nor_conv_1x1, nor_conv_3x3, avg_pool_3x3]}";

inline const std::string kDartsCell =
    "{nodes: 4, edges: op_on_node, operations: [none, max_pool_3x3, avg_pool_3x3, skip_connect, "
    "sep_conv_3x3, sep_conv_5x5, dil_conv_3x3, dil_conv_5x5]}";

}  // namespace detol

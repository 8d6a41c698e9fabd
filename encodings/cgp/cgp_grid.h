#pragma once

// CgpGrid: the grid of Cartesian genetic programming: its nodes, the functions and the sources that
// each may have, and its rules. Its genes are, in this order, those of every node (function, first
// input, second input), node by node and column by column, and the output.
// Private to this folder.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/space/architecture_rules.h"

namespace detol::inline encoding {

// CgpFunction is one value that a node's function gene may have.
struct CgpFunction {
  enum class Kind { kConv, kResidual, kMaxPool, kAvgPool, kSum, kConcat };
  Kind kind = Kind::kConv;
  std::int64_t channels = 0, kernel = 0;  // kConv, kResidual
  std::string word;                       // "residual_3x3_64"

  bool joins() const { return kind == Kind::kSum || kind == Kind::kConcat; }
};

struct CgpGrid {
  int rows = 5, columns = 30, levels_back = 10;
  int min_active = 10, max_active = 50;
  std::vector<CgpFunction> functions;

  static constexpr int kInput = -1;  // the image, among the sources of a gene

  int nodes() const { return rows * columns; }
  int column_of(int node) const { return node < 0 ? -1 : node / rows; }  // the output's: `columns`

  // These number the sources that a node of this column may take as input: the nodes of the
  // `levels_back` columns before it, after the image if that is near enough. The output gene counts
  // as a node of column `columns`.
  int source_count(int column) const;
  int source(int column, int code) const;
  std::optional<int> code_of(int column, int source) const;  // nullopt: out of reach
};

// Reads the section `cgp`. Errors (kInput): keys that do not fit together.
Result<CgpGrid> cgp_grid_of(const nlohmann::json& section);

// Convert between a source and its word, "input" or "node12".
std::string cgp_source_word(int source);
std::optional<int> cgp_source_from(std::string_view word);

std::shared_ptr<const ArchitectureRules> cgp_rules(CgpGrid grid);

}  // namespace detol::inline encoding

#include "encodings/cgp/cgp_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

namespace detol::inline encoding {
namespace {

using nlohmann::json;
using Kind = CgpFunction::Kind;

struct FunctionRow {
  std::string_view name;
  Kind kind;
};

constexpr std::array kFunctionRows = {
    FunctionRow{"conv", Kind::kConv},        FunctionRow{"residual", Kind::kResidual},
    FunctionRow{"max_pool", Kind::kMaxPool}, FunctionRow{"avg_pool", Kind::kAvgPool},
    FunctionRow{"sum", Kind::kSum},          FunctionRow{"concat", Kind::kConcat},
};

// Returns the rows that one word of `functions` stands for.
std::vector<FunctionRow> rows_for(std::string_view word) {
  std::vector<FunctionRow> rows;
  for (const FunctionRow& row : kFunctionRows) {
    const bool in_set = (word == "resset" && row.kind != Kind::kConv) ||
                        (word == "convset" && row.kind != Kind::kResidual);
    if (in_set || word == row.name) rows.push_back(row);
  }
  return rows;
}

std::vector<CgpFunction> functions_of(const json& section) {
  const std::vector<std::int64_t> channels =
      section.value("channels", std::vector<std::int64_t>{32, 64, 128});
  const std::vector<std::int64_t> kernels =
      section.value("kernels", std::vector<std::int64_t>{3, 5});
  std::vector<CgpFunction> functions;
  const auto add = [&](CgpFunction function) {
    if (std::ranges::find(functions, function.word, &CgpFunction::word) == functions.end())
      functions.push_back(std::move(function));
  };
  for (const std::string& word : section.value("functions", std::vector<std::string>{"resset"})) {
    for (const FunctionRow& row : rows_for(word)) {
      if (row.kind != Kind::kConv && row.kind != Kind::kResidual) {
        add({.kind = row.kind, .word = std::string(row.name)});
        continue;
      }
      for (std::int64_t width : channels) {
        for (std::int64_t kernel : kernels)
          add({row.kind, width, kernel, fmt::format("{0}_{1}x{1}_{2}", row.name, kernel, width)});
      }
    }
  }
  return functions;
}

// Genes stores the codes of a grid, and which of its nodes are on a path to the output.
class Genes {
 public:
  Genes(const CgpGrid& grid, std::span<double> codes) : grid_(grid), codes_(codes) { trace(); }

  int active_count() const { return static_cast<int>(std::ranges::count(active_, true)); }
  const std::vector<bool>& active() const { return active_; }

  // Counts the inputs of a node. Node grid.nodes() is the output, which has one input.
  int inputs_of(int node) const {
    if (node == grid_.nodes()) return 1;
    const auto function = static_cast<std::size_t>(codes_[gene(node)]);
    return grid_.functions[function].joins() ? 2 : 1;
  }

  int source(int node, int input) const {
    return grid_.source(grid_.column_of(node), static_cast<int>(codes_[gene(node, input)]));
  }

  // Changes an input; trace() must be called next. REQUIRES: the source is in the node's reach.
  void connect(int node, int input, int source) {
    codes_[gene(node, input)] = *grid_.code_of(grid_.column_of(node), source);
  }

  bool reaches(int node, int source) const {
    return grid_.code_of(grid_.column_of(node), source).has_value();
  }

  void trace() {
    active_.assign(static_cast<std::size_t>(grid_.nodes()), false);
    mark(source(grid_.nodes(), 0));
    for (int node = grid_.nodes() - 1; node >= 0; --node) {
      if (!active_[static_cast<std::size_t>(node)]) continue;
      for (int input = 0; input < inputs_of(node); ++input) mark(source(node, input));
    }
  }

  // Returns the nodes on a path to the output, and the output.
  std::vector<int> consumers() const {
    std::vector<int> nodes;
    for (int node = 0; node < grid_.nodes(); ++node) {
      if (active_[static_cast<std::size_t>(node)]) nodes.push_back(node);
    }
    nodes.push_back(grid_.nodes());
    return nodes;
  }

 private:
  // Returns the position of the function gene; the input genes follow it. The output has no
  // function.
  static std::size_t gene(int node) { return 3 * static_cast<std::size_t>(node); }
  std::size_t gene(int node, int input) const {
    return gene(node) + static_cast<std::size_t>(node == grid_.nodes() ? 0 : 1 + input);
  }
  void mark(int source) {
    if (source != CgpGrid::kInput) active_[static_cast<std::size_t>(source)] = true;
  }

  const CgpGrid& grid_;
  std::span<double> codes_;
  std::vector<bool> active_;
};

template <typename T>
const T& one_of(const std::vector<T>& items, Rng& rng) {
  return items[rng.below(items.size())];
}

class CgpRules final : public ArchitectureRules {
 public:
  explicit CgpRules(CgpGrid grid) : grid_(std::move(grid)) {}

  std::string violation(std::span<const double> codes) const override {
    std::vector<double> copy(codes.begin(), codes.end());
    const int count = Genes(grid_, copy).active_count();
    if (count < grid_.min_active)
      return fmt::format("architecture.cgp: {} active nodes, at least {}", count, grid_.min_active);
    if (count > grid_.max_active)
      return fmt::format("architecture.cgp: {} active nodes, at most {}", count, grid_.max_active);
    return "";
  }

  // Every step of the first loop removes a branch or a node, every step of the second adds a node.
  void repair(std::span<double> codes, Rng& rng) const override {
    Genes genes(grid_, codes);
    while (genes.active_count() > grid_.max_active) {
      if (!cut_branch(genes, rng)) skip_node(genes, rng);
      genes.trace();
    }
    while (genes.active_count() < grid_.min_active) {
      insert_node(genes, rng);
      genes.trace();
    }
  }

  std::vector<bool> expressed(std::span<const double> codes) const override {
    std::vector<double> copy(codes.begin(), codes.end());
    const Genes genes(grid_, copy);
    std::vector<bool> counts;
    counts.reserve(codes.size());
    for (int node = 0; node < grid_.nodes(); ++node) {
      const bool active = genes.active()[static_cast<std::size_t>(node)];
      for (int gene = 0; gene < 3; ++gene)
        counts.push_back(active && gene <= genes.inputs_of(node));
    }
    counts.push_back(true);
    return counts;
  }

 private:
  struct Edge {
    int node, input;
  };

  // Connects the second input of a join to the source of its first. Returns false if all joins have
  // one source already.
  static bool cut_branch(Genes& genes, Rng& rng) {
    std::vector<int> joins;
    for (int node : genes.consumers()) {
      if (genes.inputs_of(node) == 2 && genes.source(node, 0) != genes.source(node, 1))
        joins.push_back(node);
    }
    if (joins.empty()) return false;
    const int node = one_of(joins, rng);
    genes.connect(node, 1, genes.source(node, 0));
    return true;
  }

  // Connects a node with its input's input. REQUIRES: no join has two different inputs, and the
  // grid's max_active is possible: the path then has two edges that a single one can replace.
  static void skip_node(Genes& genes, Rng& rng) {
    std::vector<int> able;
    for (int node : genes.consumers()) {
      const int before = genes.source(node, 0);
      if (before != CgpGrid::kInput && genes.reaches(node, genes.source(before, 0)))
        able.push_back(node);
    }
    const int node = one_of(able, rng);
    const int target = genes.source(genes.source(node, 0), 0);
    for (int input = 0; input < genes.inputs_of(node); ++input) genes.connect(node, input, target);
  }

  // Inserts an inactive node between a node and its input. This is always possible: else every
  // column would have an active node, and min_active is at most `columns`.
  void insert_node(Genes& genes, Rng& rng) const {
    std::vector<Edge> edges;
    for (int node : genes.consumers()) {
      for (int input = 0; input < genes.inputs_of(node); ++input) {
        if (!between(genes, {node, input}).empty()) edges.push_back({node, input});
      }
    }
    const Edge edge = one_of(edges, rng);
    const int node = one_of(between(genes, edge), rng);
    const int before = genes.source(edge.node, edge.input);
    genes.connect(node, 0, before);
    if (genes.inputs_of(node) == 2) genes.connect(node, 1, an_active_one(genes, node, before, rng));
    genes.connect(edge.node, edge.input, node);
  }

  // Returns the inactive nodes in the columns between the two ends of an edge.
  std::vector<int> between(const Genes& genes, Edge edge) const {
    std::vector<int> nodes;
    const int first = (grid_.column_of(genes.source(edge.node, edge.input)) + 1) * grid_.rows;
    const int last = grid_.column_of(edge.node) * grid_.rows;
    for (int node = first; node < last; ++node) {
      if (!genes.active()[static_cast<std::size_t>(node)]) nodes.push_back(node);
    }
    return nodes;
  }

  // Draws an active node in reach of this one, or `fallback`, so that no other node is activated.
  int an_active_one(const Genes& genes, int node, int fallback, Rng& rng) const {
    std::vector<int> sources = {fallback};
    for (int source = 0; source < grid_.column_of(node) * grid_.rows; ++source) {
      if (genes.active()[static_cast<std::size_t>(source)] && genes.reaches(node, source))
        sources.push_back(source);
    }
    return one_of(sources, rng);
  }

  const CgpGrid grid_;
};

tl::unexpected<Error> impossible(std::string what) {
  return fail(ErrorCode::kInput, "architecture.cgp." + std::move(what));
}

}  // namespace

int CgpGrid::source_count(int column) const {
  const int first = std::max(0, column - levels_back);
  return (column - first) * rows + (column < levels_back ? 1 : 0);
}

int CgpGrid::source(int column, int code) const {
  const int first = std::max(0, column - levels_back) * rows;
  if (column >= levels_back) return first + code;
  return code == 0 ? kInput : first + code - 1;
}

std::optional<int> CgpGrid::code_of(int column, int source) const {
  const int first = std::max(0, column - levels_back) * rows;
  const bool near_input = column < levels_back;
  if (source == kInput) return near_input ? std::optional(0) : std::nullopt;
  if (source < first || source >= column * rows) return std::nullopt;
  return source - first + (near_input ? 1 : 0);
}

Result<CgpGrid> cgp_grid_of(const json& section) {
  CgpGrid grid;
  grid.rows = section.value("rows", grid.rows);
  grid.columns = section.value("columns", grid.columns);
  grid.levels_back = section.value("levels_back", std::min(grid.levels_back, grid.columns));
  grid.min_active = section.value("min_active", std::min(grid.min_active, grid.columns));
  grid.max_active = section.value("max_active", std::max(grid.max_active, grid.min_active));
  grid.functions = functions_of(section);
  constexpr int kMostNodes = 1024;
  if (grid.nodes() > kMostNodes) {
    return impossible(
        fmt::format("rows x columns is {}; it must be at most {}", grid.nodes(), kMostNodes));
  }
  if (grid.min_active > grid.columns) {
    return impossible(fmt::format("min_active is {}; it must be at most the columns, {}",
                                  grid.min_active, grid.columns));
  }
  // Two successive edges that no single one can replace span levels_back + 1 columns or more.
  const int fewest = 2 * ((grid.columns + 1) / (grid.levels_back + 1));
  if (const int least = std::max({grid.min_active, fewest, 1}); grid.max_active < least)
    return impossible(
        fmt::format("max_active is {}; it must be at least {}", grid.max_active, least));
  return grid;
}

std::string cgp_source_word(int source) {
  return source == CgpGrid::kInput ? "input" : fmt::format("node{}", source);
}

std::optional<int> cgp_source_from(std::string_view word) {
  if (word == "input") return CgpGrid::kInput;
  if (!word.starts_with("node")) return std::nullopt;
  int node = 0;
  const auto [end, error] = std::from_chars(word.data() + 4, word.data() + word.size(), node);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return node;
}

std::shared_ptr<const ArchitectureRules> cgp_rules(CgpGrid grid) {
  return std::make_shared<CgpRules>(std::move(grid));
}

}  // namespace detol::inline encoding

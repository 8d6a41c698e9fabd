// The choices that a cell's section implies: one operation for every edge, or inputs and operations
// for every node; the rules between them; and the text under which tables of architectures list a
// cell.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "encodings/cell/cell.h"
#include "encodings/cell/cell_rules.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;

tl::unexpected<Error> mistake(std::string_view key, std::string_view what) {
  return fail(ErrorCode::kInput, fmt::format("architecture.{}: {}", key, what));
}

Domain categorical(std::string name, const std::vector<std::string>& words) {
  Domain domain;
  domain.name = std::move(name);
  domain.kind = DomainKind::kCategorical;
  domain.choices.assign(words.begin(), words.end());
  return domain;
}

// Adds the choice to those of the section and returns the placeholder of its value.
json choice(Implied& implied, std::string name, const std::vector<std::string>& words) {
  json stands = {{"$", name}};
  implied.choices.push_back(categorical(std::move(name), words));
  return stands;
}

std::vector<std::string> operations_of(const json& architecture) {
  return architecture.at("cell").at("operations");
}

Result<Implied> imply_edges(json& architecture) {
  json& cell = architecture.at("cell");
  for (const char* key : {"inputs_per_node", "cells"}) {
    if (cell.contains(key)) return mistake(fmt::format("cell.{}", key), "only with op_on_node");
  }
  const std::size_t nodes = cell.at("nodes");
  if (nodes < 2) return mistake("cell.nodes", "op_on_edge counts the input too: at least 2");
  Implied implied;
  json edges = json::array();
  for (std::size_t i = 0; i < nodes * (nodes - 1) / 2; ++i) {
    edges.push_back(
        choice(implied, fmt::format("architecture.cell.edge[{}]", i), operations_of(architecture)));
  }
  cell["edge"] = std::move(edges);
  return implied;
}

// Adds the choices of one cell, and their positions to `layout`; returns the cell's section.
json imply_nodes(Implied& implied, CellLayout& layout, const std::string& kind,
                 const json& architecture) {
  json nodes = json::array();
  const std::vector<std::size_t> inputs = inputs_of_nodes(architecture);
  for (std::size_t node = 0; node < inputs.size(); ++node) {
    const std::size_t tensors = kCellInputs + node;
    std::vector<std::string> words;
    for (std::size_t i = 0; i < tensors; ++i) words.push_back(tensor_word(i));
    json takes = json::array();
    json operations = json::array();
    for (std::size_t slot = 0; slot < inputs[node]; ++slot) {
      const std::string name = fmt::format("architecture.{}.node[{}]", kind, node);
      const bool is_free = inputs[node] < tensors;
      if (is_free) {
        takes.push_back(choice(implied, fmt::format("{}.input[{}]", name, slot), words));
      } else {
        takes.push_back(words[slot]);
      }
      operations.push_back(
          choice(implied, fmt::format("{}.op[{}]", name, slot), operations_of(architecture)));
      layout.add_slot(kind, node, slot, is_free);
    }
    nodes.push_back({{"input", std::move(takes)}, {"op", std::move(operations)}});
  }
  return {{"node", std::move(nodes)}};
}

// Returns the names of the cells that have choices of their own.
Result<std::vector<std::string>> cells_of(const json& architecture) {
  const json& cell = architecture.at("cell");
  const bool reduces = has_reduction(architecture);
  const std::vector<std::string> usual = {"normal", "reduction"};
  if (!cell.contains("cells")) return reduces ? usual : std::vector<std::string>{"normal"};
  std::vector<std::string> cells = cell.at("cells");
  std::ranges::sort(cells);
  if (cells.front() != "normal")
    return mistake("cell.cells", "[normal, reduction], or [normal] to use one cell as both");
  if (cells.size() > 1 && !reduces)
    return mistake("cell.cells", "a network of one stage has no reduction cell");
  return cells;
}

Result<Implied> imply_cells(json& architecture) {
  const std::vector<std::string> operations = operations_of(architecture);
  DETOL_ASSIGN(const std::vector<std::string> cells, cells_of(architecture));
  CellLayout layout;
  layout.operations = operations.size();
  const auto none = std::ranges::find(operations, "none");
  if (none != operations.end()) layout.none = static_cast<std::size_t>(none - operations.begin());
  Implied implied;
  for (const std::string& kind : cells)
    architecture[kind] = imply_nodes(implied, layout, kind, architecture);
  implied.rules = cell_rules(std::move(layout));
  return implied;
}

// Returns |op~0|+|op~0|op~1|+... as NAS-Bench-201 writes its cells.
std::string edges_key(const json& cell) {
  const json& edges = cell.at("edge");
  std::string text;
  std::size_t edge = 0;
  for (std::size_t node = 1; edge < edges.size(); ++node) {
    text += node == 1 ? "|" : "+|";
    for (std::size_t from = 0; from < node; ++from)
      text += fmt::format("{}~{}|", edges[edge++].get<std::string>(), from);
  }
  return text;
}

// Returns [('sep_conv_3x3', 0), ('skip_connect', 1), ...], the inputs of a node in their order.
std::string nodes_key(const json& cell) {
  std::string text;
  std::size_t tensors = kCellInputs;
  for (const json& node : cell.at("node")) {
    for (std::size_t index = 0; index < tensors; ++index) {
      for (std::size_t slot = 0; slot < node.at("op").size(); ++slot) {
        if (node.at("input")[slot] != tensor_word(index)) continue;
        text += fmt::format("{}('{}', {})", text.empty() ? "" : ", ",
                            node.at("op")[slot].get<std::string>(), index);
      }
    }
    ++tensors;
  }
  return "[" + text + "]";
}

// Returns Genotype(normal=[...], normal_concat=range(2, 6), reduce=[...], reduce_concat=range(2,
// 6)) as DARTS writes its cells; without a reduction cell only the first half.
std::string genotype(const json& architecture) {
  const auto half = [](std::string_view word, const json& cell) {
    return fmt::format("{}={}, {}_concat=range({}, {})", word, nodes_key(cell), word, kCellInputs,
                       kCellInputs + cell.at("node").size());
  };
  std::string text = "Genotype(" + half("normal", architecture.at("normal"));
  if (architecture.contains("reduction"))
    text += ", " + half("reduce", architecture.at("reduction"));
  return text + ")";
}

}  // namespace

bool has_op_on_node(const json& architecture) {
  return architecture.at("cell").at("edges") == "op_on_node";
}

bool has_reduction(const json& architecture) {
  return architecture.value("macro", json::object()).value("stages", 3) > 1;
}

std::vector<std::size_t> inputs_of_nodes(const json& architecture) {
  const json& cell = architecture.at("cell");
  const std::size_t most = cell.value("inputs_per_node", std::size_t{2});
  std::vector<std::size_t> inputs;
  for (std::size_t node = 0; node < cell.at("nodes"); ++node)
    inputs.push_back(std::min(most, kCellInputs + node));
  return inputs;
}

std::string tensor_word(std::size_t index) {
  const bool is_input = index < kCellInputs;
  return fmt::format("{}{}", is_input ? "input" : "node", is_input ? index : index - kCellInputs);
}

Result<Implied> imply_cell(json& architecture) {
  if (operations_of(architecture) == std::vector<std::string>{"none"})
    return mistake("cell.operations", "an operation beside none is needed");
  return has_op_on_node(architecture) ? imply_cells(architecture) : imply_edges(architecture);
}

std::string cell_key(const json& architecture) {
  return has_op_on_node(architecture) ? genotype(architecture) : edges_key(architecture.at("cell"));
}

}  // namespace detol::inline encoding

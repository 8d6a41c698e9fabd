// The keys of `architecture` under `type: cell`.

#include <array>

#include "encodings/cell/cell.h"
#include "encodings/cell/cell_operations.h"
#include "encodings/common/macro.h"

namespace detol::inline encoding {
namespace {

using Words = std::string_view;
using enum FieldKind;

constexpr auto kOperationWords = [] {
  std::array<Words, kOperations.size()> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = kOperations[i].name;
  return words;
}();

constexpr std::array<Words, 2> kEdges = {"op_on_edge", "op_on_node"};
constexpr std::array<Words, 2> kCells = {"normal", "reduction"};

constexpr std::array kCell = {
    Field{.key = "nodes", .kind = kInt, .required = true, .low = 1, .high = 8},
    Field{.key = "edges", .kind = kWord, .required = true, .words = kEdges},
    Field{.key = "operations", .kind = kWords, .required = true, .words = kOperationWords},
    Field{.key = "inputs_per_node", .kind = kInt, .low = 1, .high = 8},
    Field{.key = "cells", .kind = kWords, .words = kCells}};

constexpr std::array kMacro = macro_fields(false);

constexpr std::array kFields = {
    Field{.key = "cell", .kind = kSection, .required = true, .children = kCell},
    Field{.key = "macro", .kind = kSection, .children = kMacro}};

}  // namespace

std::span<const Field> cell_schema() {
  return kFields;
}

}  // namespace detol::inline encoding

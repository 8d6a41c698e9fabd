// The keys of `architecture` under `type: cell`.

#include <array>

#include "encodings/cell.h"
#include "encodings/cell_operations.h"

namespace detol {
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

constexpr std::array kMacro = {
    Field{.key = "cells_per_stage", .kind = kInt, .may_be_domain = true, .low = 1, .high = 64},
    Field{.key = "stages", .kind = kInt, .low = 1, .high = 8},
    Field{.key = "channels", .kind = kInt, .may_be_domain = true, .low = 1, .high = 4096},
    Field{.key = "stem_stride", .kind = kInt, .may_be_domain = true, .low = 1, .high = 8}};

constexpr std::array kFields = {
    Field{.key = "cell", .kind = kSection, .required = true, .children = kCell},
    Field{.key = "macro", .kind = kSection, .children = kMacro}};

}  // namespace

std::span<const Field> cell_schema() {
  return kFields;
}

}  // namespace detol

// The keys of `architecture` under `type: graph`.

#include <array>

#include "encodings/common/macro.h"
#include "encodings/common/stem_and_head.h"
#include "encodings/graph/graph.h"
#include "encodings/graph/graph_operations.h"
#include "encodings/graph/wiring.h"

namespace detol::inline encoding {
namespace {

using Words = std::string_view;
using enum FieldKind;

constexpr auto kOperationWords = [] {
  std::array<Words, kVertexOperations.size()> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = kVertexOperations[i].name;
  return words;
}();

constexpr std::array<Words, 4> kJoins = {"add", "concat", "per_node", "nasbench101"};
constexpr auto kMostNodes = static_cast<double>(Wiring::kMaxVertices);

constexpr std::array kGraph = {
    Field{.key = "nodes", .kind = kInt, .required = true, .low = 2, .high = kMostNodes},
    Field{.key = "edges", .kind = kInt, .low = 1, .high = kMostNodes * (kMostNodes - 1) / 2},
    Field{.key = "operations", .kind = kWords, .required = true, .words = kOperationWords},
    Field{.key = "join", .kind = kWord, .words = kJoins}};

constexpr std::array kMacro = macro_fields(true);

}  // namespace

std::span<const Field> graph_schema() {
  static const std::array kFields = {
      Field{.key = "graph", .kind = kSection, .required = true, .children = kGraph},
      Field{.key = "macro", .kind = kSection, .children = kMacro},
      Field{.key = "head", .kind = kSection, .children = head_fields()}};
  return kFields;
}

}  // namespace detol::inline encoding

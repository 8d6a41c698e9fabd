// The graph of encoding `cell` shows the cells alone, as the skeleton is given. It has a vertex for
// every operation that is computed; `none` and `skip_connect` are no vertices, but decide which
// edges there are.
//
// op_on_edge  one cell. An operation has an edge from every operation, and maybe the input, whose
//             sum it reads, directly or through skip_connect (as NAS-BOWL draws NAS-Bench-201:
//             Ru et al., 2021, arXiv 2006.07556)
//
//               input -> nor_conv_1x1 -> output        edges nor_conv_1x1, none, skip_connect:
//                                                      from node 0 to 1, 0 to 2, 1 to 2
//
// op_on_node  a component for the normal and one for the reduction cell; their labels differ. Nodes
//             that add are vertices, as the output concatenates them. `skip_connect` is an
//             operation where a reduction cell has stride 2. Cells that ignore an input may differ
//             and yet build one network; their graphs differ, too.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "encodings/cell/cell.h"
#include "encodings/cell/cell_operations.h"
#include "encodings/common/graph_builder.h"
#include "encodings/common/parameter_reference.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;
using Tensor = GraphBuilder::Tensor;
using Codes = std::span<const double>;

struct CellOperation {
  OperationForm form = OperationForm::kNone;
  std::uint64_t label = 0;
};

// Returns a function from a value to the operation that it names; labels begin with `scope`.
auto operation_in(std::string scope) {
  return [scope = std::move(scope)](const Value& value) {
    const auto& word = std::get<std::string>(value);
    return CellOperation{find_row(std::span<const Operation>(kOperations), word)->form,
                         label_of(scope + word)};
  };
}

void append(Tensor& sum, const Tensor& part) {
  sum.insert(sum.end(), part.begin(), part.end());
}

// Adds the operation on a tensor and returns its output.
Tensor operated(GraphBuilder& graph, const CellOperation& operation, const Tensor& tensor,
                bool has_stride) {
  if (tensor.empty() || operation.form == OperationForm::kNone) return {};
  if (operation.form == OperationForm::kSkip && !has_stride) return tensor;
  return {graph.add(operation.label, tensor)};
}

using Edges = std::vector<ParameterReference<CellOperation>>;

LabelledGraph edge_cell(const Edges& edges, Codes codes) {
  static const std::uint64_t kInput = label_of("input"), kOutput = label_of("output");
  GraphBuilder graph;
  std::vector<Tensor> tensors = {{graph.add(kInput, {})}};
  for (std::size_t edge = 0; edge < edges.size();) {
    Tensor sum;
    for (const Tensor& from : tensors)
      append(sum, operated(graph, edges[edge++].in(codes), from, false));
    tensors.push_back(std::move(sum));
  }
  return graph.build({graph.add(kOutput, tensors.back())});
}

// LabelledNodeCell: one cell of op_on_node.
struct LabelledNodeCell {
  struct Slot {
    ParameterReference<std::size_t> input;
    ParameterReference<CellOperation> operation;
  };
  std::vector<std::vector<Slot>> nodes;
  std::uint64_t inputs[kCellInputs], sum, output;  // labels
  bool has_stride = false;                         // operations on its inputs have stride 2
};

std::size_t tensor_of(const Value& word) {
  std::size_t tensor = 0;
  while (std::get<std::string>(word) != tensor_word(tensor)) ++tensor;
  return tensor;
}

LabelledNodeCell node_cell(const std::string& kind, const json& section, const Space& space) {
  const std::string scope = kind + ".";
  LabelledNodeCell cell{{},
                        {label_of(scope + tensor_word(0)), label_of(scope + tensor_word(1))},
                        label_of(scope + "add"),
                        label_of(scope + "output")};
  for (const json& node : section.at("node")) {
    std::vector<LabelledNodeCell::Slot> slots;
    for (std::size_t slot = 0; slot < node.at("op").size(); ++slot) {
      slots.push_back({{section_value(node.at("input")[slot], space), space, tensor_of},
                       {section_value(node.at("op")[slot], space), space, operation_in(scope)}});
    }
    cell.nodes.push_back(std::move(slots));
  }
  return cell;
}

GraphBuilder::Vertex add_cell(GraphBuilder& graph, const LabelledNodeCell& cell, Codes codes) {
  std::vector<Tensor> tensors;
  for (std::uint64_t label : cell.inputs) tensors.push_back({graph.add(label, {})});
  Tensor all;
  for (const auto& slots : cell.nodes) {
    Tensor sum;
    for (const LabelledNodeCell::Slot& slot : slots) {
      const std::size_t from = slot.input.in(codes);
      append(sum, operated(graph, slot.operation.in(codes), tensors[from],
                           cell.has_stride && from < kCellInputs));
    }
    if (sum.size() > 1) sum = {graph.add(cell.sum, sum)};
    append(all, sum);
    tensors.push_back(std::move(sum));
  }
  return graph.add(cell.output, all);
}

GraphOfCodes labelled_edges(const json& architecture, const Space& space) {
  Edges edges;
  for (const json& edge : architecture.at("cell").at("edge"))
    edges.emplace_back(section_value(edge, space), space, operation_in(""));
  return [edges = std::move(edges)](Codes codes) { return edge_cell(edges, codes); };
}

// Returns the graphs of op_on_node. A single cell that serves as normal and as reduction cell has
// the graph of the latter, which determines the former.
GraphOfCodes labelled_nodes(const json& architecture, const Space& space) {
  std::vector<LabelledNodeCell> cells = {node_cell("normal", architecture.at("normal"), space)};
  if (architecture.contains("reduction"))
    cells.push_back(node_cell("reduction", architecture.at("reduction"), space));
  cells.back().has_stride = has_reduction(architecture);
  return [cells = std::move(cells)](Codes codes) {
    GraphBuilder graph;
    Tensor outputs;
    for (const LabelledNodeCell& cell : cells) outputs.push_back(add_cell(graph, cell, codes));
    return graph.build(outputs);
  };
}

}  // namespace

GraphOfCodes labelled_cell(const json& architecture, const Space& space) {
  return has_op_on_node(architecture) ? labelled_nodes(architecture, space)
                                      : labelled_edges(architecture, space);
}

}  // namespace detol::inline encoding

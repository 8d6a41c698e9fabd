// Encoding `cell`: the search chooses a small graph, the cell; a given skeleton repeats it. Two
// kinds:
//
// op_on_edge (NAS-Bench-201: Dong & Yang, 2020, arXiv 2001.00326). Node 0 is the cell's input; an
// operation stands on the edge from every node to every later one; a node is the sum of its
// incoming edges, the last node the cell's output. All cells are equal.
//
//   conv3 - bn - cells_per_stage cells [- reduction - cells_per_stage cells]... - bn - relu - head
//   reduction  relu - conv3 of stride 2 - bn - relu - conv3 - bn, twice the channels; the shortcut
//              is avg_pool 2 - 1x1 conv. Images of odd size: avg_pool 3, which rounds as conv3 does
//   head       global_avg_pool - dense
//
// op_on_node (NASNet: Zoph et al., 2018, arXiv 1707.07012; DARTS: Liu et al., 2019, arXiv
// 1806.09055). A cell takes the outputs of the two cells before it, both after relu - 1x1 conv - bn
// (of stride 2 where the one is larger than the other). Each of its nodes takes inputs_per_node
// different tensors out of those two and the nodes before it, applies an operation to each, and
// adds the results. The output concatenates all nodes. Between stages a reduction cell, whose
// operations on the cell's inputs have stride 2, doubles the channels.
//
//   conv3 to 3 x channels - bn - cells_per_stage normal cells [- reduction cell - ...] - head
//
// A tensor to which only `none` leads is not computed, and left out of sums and concatenations; a
// network whose output is such a tensor is refused. A tensor's relu is computed once for all
// operations that begin with a relu.
//
//   nodes: 3, edges [nor_conv_1x1, skip_connect, none]: the output is the input itself, because
//   `none` drops the convolution's output: the cell has no layers.

#include "encodings/cell/cell.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/table.h"
#include "encodings/cell/cell_operations.h"
#include "encodings/common/macro.h"
#include "encodings/common/path.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;

// OptionalNode is the node of a tensor; nullopt if only `none` leads to it.
using OptionalNode = std::optional<NodeId>;

constexpr Macro kDefaults{.cells_per_stage = 5, .stages = 3};

// Cell adds operations to one cell and stores its tensors in the order in which they are made.
class Cell {
 public:
  Cell(NetworkBuilder& builder, std::string scope) : builder_(builder), scope_(std::move(scope)) {}

  void add(OptionalNode tensor, std::string name) { tensors_.push_back({tensor, std::move(name)}); }
  OptionalNode at(std::size_t index) const { return tensors_[index].tensor; }
  std::size_t size() const { return tensors_.size(); }

  // Adds the operation on a tensor; `to` names its output.
  OptionalNode operated(std::size_t from, std::string_view operation, std::int64_t stride,
                        std::string_view to) {
    const Operation& row = *find_row(std::span<const Operation>(kOperations), operation);
    if (!at(from) || row.form == OperationForm::kNone) return {};
    const NodeId start = begins_with_relu(row, stride) ? relu(tensors_[from]) : *at(from);
    Path path(builder_, start, fmt::format("{}.{}.{}", scope_, to, tensors_[from].name));
    add_operation(path, row, stride);
    return path.end();
  }

  // Joins the tensors that exist; returns a single one as it is.
  OptionalNode joined(LayerKind kind, const std::vector<OptionalNode>& parts,
                      std::string_view name) {
    std::vector<NodeId> inputs;
    for (const OptionalNode& part : parts) {
      if (part) inputs.push_back(*part);
    }
    if (inputs.empty()) return {};
    if (inputs.size() == 1) return inputs.front();
    return builder_.add({.kind = kind}, std::move(inputs), fmt::format("{}.{}", scope_, name));
  }

 private:
  struct Named {
    OptionalNode tensor;
    std::string name;
  };

  // Returns the tensor's relu, added once: a `skip_connect` makes two tensors the same node.
  NodeId relu(const Named& named) {
    const auto [entry, is_new] = relus_.try_emplace(*named.tensor, 0);
    if (is_new) {
      Path path(builder_, *named.tensor, fmt::format("{}.{}", scope_, named.name));
      path.activate(Activation::kRelu, "relu");
      entry->second = path.end();
    }
    return entry->second;
  }

  NetworkBuilder& builder_;
  std::string scope_;
  std::vector<Named> tensors_;
  std::map<NodeId, NodeId> relus_;  // by the node that they take
};

// Adds a cell of op_on_edge over `input`.
OptionalNode edge_cell(NetworkBuilder& builder, const std::string& scope, const json& section,
                       NodeId input) {
  const json& edges = section.at("edge");
  Cell cell(builder, scope);
  cell.add(input, "node0");
  for (std::size_t edge = 0; edge < edges.size();) {
    const std::string name = fmt::format("node{}", cell.size());
    std::vector<OptionalNode> parts;
    for (std::size_t from = 0; from < cell.size(); ++from)
      parts.push_back(cell.operated(from, edges[edge++].get<std::string>(), 1, name));
    cell.add(cell.joined(LayerKind::kAdd, parts, name + ".add"), name);
  }
  return cell.at(cell.size() - 1);
}

void add_stem(Path& path, const Macro& macro, std::int64_t channels) {
  path.enter("stem");
  path.conv({.channels = channels, .kernel = 3, .stride = macro.stem_stride}, "conv");
  path.batch_norm("bn");
}

void add_head(Path& path, int classes) {
  path.enter("head");
  path.add({.kind = LayerKind::kGlobalAvgPool}, "pool");
  path.dense(classes, true, "linear");
}

// Adds the block between two stages of op_on_edge.
void add_reduction(Path& path, const std::string& scope) {
  const NodeId input = path.end();
  const Shape before = path.shape();
  const std::int64_t channels = 2 * before.channels;
  path.enter(scope);
  path.activate(Activation::kRelu, "relu1");
  path.conv({.channels = channels, .kernel = 3, .stride = 2}, "conv1");
  path.batch_norm("bn1");
  path.activate(Activation::kRelu, "relu2");
  path.conv({.channels = channels, .kernel = 3}, "conv2");
  path.batch_norm("bn2");
  const NodeId branch = path.end();
  path.jump_to(input);
  const auto halves = [](std::int64_t size) { return size % 2 == 0; };
  const bool is_even = halves(before.width) && (halves(before.height) || before.height == 1);
  path.pool(LayerKind::kAvgPool, is_even ? 2 : 3, 2, "shortcut.pool");
  path.conv({.channels = channels}, "shortcut.conv");
  path.join(LayerKind::kAdd, {branch, path.end()}, "add");
}

tl::unexpected<Error> unreached() {
  return fail(ErrorCode::kInput, "nothing reaches the cell's output: `none` cuts every path");
}

Result<Network> decode_edges(const json& architecture, const Task& task) {
  const Macro macro = macro_of(architecture, kDefaults);
  NetworkBuilder builder(task.input);
  Path path(builder, builder.input(), "");
  add_stem(path, macro, macro.channels);
  for (std::int64_t stage = 0; stage < macro.stages; ++stage) {
    if (stage > 0) add_reduction(path, fmt::format("stages.{}.reduction", stage));
    for (std::int64_t i = 0; i < macro.cells_per_stage; ++i) {
      const OptionalNode output = edge_cell(builder, fmt::format("stages.{}.{}", stage, i),
                                            architecture.at("cell"), path.end());
      if (!output) return unreached();
      path.jump_to(*output);
    }
  }
  path.enter("head");
  path.batch_norm("bn");
  path.activate(Activation::kRelu, "relu");
  add_head(path, task.classes);
  return builder.build(path.end());
}

// Adds relu - 1x1 conv - bn with `channels` outputs; stride 2 halves the size.
NodeId preprocessed(NetworkBuilder& builder, NodeId input, std::int64_t channels,
                    std::int64_t stride, const std::string& scope) {
  Path path(builder, input, scope);
  path.activate(Activation::kRelu, "relu");
  path.conv({.channels = channels, .stride = stride}, "conv");
  path.batch_norm("bn");
  return path.end();
}

bool is_larger(const Shape& image, const Shape& than) {
  return image.width > than.width || image.height > than.height;
}

// Before stores the outputs of the two preceding cells.
struct Before {
  NodeId older, newer;
};

struct NodeCell {
  std::string scope;
  const json& section;    // `architecture.normal` or `architecture.reduction`
  std::int64_t channels;  // of every node
  std::int64_t stride;    // of the operations on the cell's inputs
};

// Adds a cell of op_on_node.
OptionalNode node_cell(NetworkBuilder& builder, const NodeCell& made, Before before) {
  const std::int64_t shrink =
      is_larger(builder.shape(before.older), builder.shape(before.newer)) ? 2 : 1;
  Cell cell(builder, made.scope);
  cell.add(preprocessed(builder, before.older, made.channels, shrink, made.scope + ".preprocess0"),
           tensor_word(0));
  cell.add(preprocessed(builder, before.newer, made.channels, 1, made.scope + ".preprocess1"),
           tensor_word(1));
  std::vector<OptionalNode> nodes;
  for (const json& node : made.section.at("node")) {
    const std::string name = tensor_word(cell.size());
    std::vector<OptionalNode> parts;
    for (std::size_t slot = 0; slot < node.at("op").size(); ++slot) {
      std::size_t from = 0;
      while (node.at("input")[slot] != tensor_word(from)) ++from;
      parts.push_back(cell.operated(from, node.at("op")[slot].get<std::string>(),
                                    from < kCellInputs ? made.stride : 1, name));
    }
    nodes.push_back(cell.joined(LayerKind::kAdd, parts, name + ".add"));
    cell.add(nodes.back(), name);
  }
  return cell.joined(LayerKind::kConcat, nodes, "concat");
}

Result<Network> decode_nodes(const json& architecture, const Task& task) {
  const Macro macro = macro_of(architecture, kDefaults);
  const json& normal = architecture.at("normal");
  const json& reduction = architecture.contains("reduction") ? architecture["reduction"] : normal;
  NetworkBuilder builder(task.input);
  Path path(builder, builder.input(), "");
  add_stem(path, macro, 3 * macro.channels);
  Before before{path.end(), path.end()};
  std::int64_t channels = macro.channels;
  const auto add_cell = [&](const NodeCell& cell) {
    const OptionalNode output = node_cell(builder, cell, before);
    if (output) before = {before.newer, *output};
    return output.has_value();
  };
  for (std::int64_t stage = 0; stage < macro.stages; ++stage) {
    if (stage > 0) channels *= 2;
    if (stage > 0 && !add_cell({fmt::format("stages.{}.reduction", stage), reduction, channels, 2}))
      return unreached();
    for (std::int64_t i = 0; i < macro.cells_per_stage; ++i) {
      if (!add_cell({fmt::format("stages.{}.{}", stage, i), normal, channels, 1}))
        return unreached();
    }
  }
  path.jump_to(before.newer);
  add_head(path, task.classes);
  return builder.build(path.end());
}

}  // namespace

Result<Network> decode_cell(const json& architecture, const Task& task) {
  return has_op_on_node(architecture) ? decode_nodes(architecture, task)
                                      : decode_edges(architecture, task);
}

}  // namespace detol::inline encoding

// Encoding `cgp`: Cartesian genetic programming (Miller and Thomson, 2000) of networks, as in
// CGP-CNN (Suganuma et al., 2017, "A Genetic Programming Approach to Designing Convolutional Neural
// Network Architectures", GECCO, arXiv 1704.00764).
//
// A grid of nodes, rows x columns. Every node has a function and two inputs, each a node of the
// `levels_back` columns before it or, near the left edge, the image; the output is one of the last
// columns' nodes. The network consists of the nodes that lead to the output; the genes of all
// others are not expressed: they may change freely, and one new connection may activate them.
//
//   rows 2, columns 2       node0 conv_3x3_8 (input)   node2 max_pool (node0)
//   output node3            node1 max_pool (input)     node3 sum (node0, node1)
//   -> the sum of a convolution and a pooled image; node2 is not expressed
//
//   conv_KxK_C      conv - bn - relu                                   ("ConvBlock")
//   residual_KxK_C  conv - bn - relu - conv - bn - add - relu; the shortcut is a 1x1 conv - bn
//                   where the channels change                          ("ResBlock")
//   max_pool, avg_pool   2 x 2, stride 2; nothing where the image is one pixel wide or high
//   sum, concat     of both inputs, which encodings/common/join.h brings to one size; the input
//                   itself if both are the same
//   stem, head      as those of `chain`, but without a stem unless it is given
//
// Choices: a word for each node's function (`node[i].op`), two for its sources (`node[i].input[0]`,
// `node[i].input[1]`: "input", "node12"), one for the output. The rules keep the number of nodes
// on a path to the output between `min_active` and `max_active` (10 and 50 in the paper), by
// putting unused nodes between connected ones or by cutting branches, and leave the rest as it was.

#include "encodings/cgp/cgp.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "encodings/cgp/cgp_grid.h"
#include "encodings/common/join.h"
#include "encodings/common/stem_and_head.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;
using Kind = CgpFunction::Kind;

Domain word_choice(std::string name, std::vector<Value> words) {
  Domain domain;
  domain.name = std::move(name);
  domain.kind = DomainKind::kCategorical;
  domain.choices = std::move(words);
  return domain;
}

std::vector<Value> sources_of(const CgpGrid& grid, int column) {
  std::vector<Value> words;
  for (int code = 0; code < grid.source_count(column); ++code)
    words.emplace_back(cgp_source_word(grid.source(column, code)));
  return words;
}

// Gene: one node of a concrete network.
struct Gene {
  CgpFunction function;
  int inputs[2] = {CgpGrid::kInput, CgpGrid::kInput};
};

tl::unexpected<Error> unreadable(const std::string& what) {
  return fail(ErrorCode::kInput, "architecture.cgp: " + what);
}

Result<int> source_of(const json& word, int before) {
  const auto source = cgp_source_from(word.get<std::string>());
  if (!source || *source >= before)
    return unreadable(fmt::format("no node {} can be connected there", word.get<std::string>()));
  return *source;
}

Result<std::vector<Gene>> genes_of(const json& section, const CgpGrid& grid) {
  std::vector<Gene> genes;
  for (const json& node : section.at("node")) {
    const auto index = static_cast<int>(genes.size());
    const auto word = node.at("op").get<std::string>();
    const auto function = std::ranges::find(grid.functions, word, &CgpFunction::word);
    if (function == grid.functions.end()) return unreadable("unknown function " + word);
    Gene gene{*function, {}};
    for (std::size_t input = 0; input < 2; ++input) {
      const int first_of_column = grid.column_of(index) * grid.rows;
      DETOL_ASSIGN(gene.inputs[input], source_of(node.at("input").at(input), first_of_column));
    }
    genes.push_back(std::move(gene));
  }
  return genes;
}

// CgpBuilder builds the nodes that lead to the output, each once.
class CgpBuilder {
 public:
  CgpBuilder(NetworkBuilder& builder, NodeId image, std::vector<Gene> genes)
      : builder_(builder), image_(image), genes_(std::move(genes)) {}

  NodeId build(int output) {
    const std::vector<bool> needed = needed_for(output);
    ends_.assign(genes_.size(), image_);
    for (std::size_t i = 0; i < genes_.size(); ++i) {
      if (needed[i]) ends_[i] = add(genes_[i], fmt::format("nodes.{}", i));
    }
    return end_of(output);
  }

 private:
  std::vector<bool> needed_for(int output) const {
    std::vector<bool> needed(genes_.size(), false);
    const auto mark = [&](int source) {
      if (source != CgpGrid::kInput) needed[static_cast<std::size_t>(source)] = true;
    };
    mark(output);
    for (std::size_t i = genes_.size(); i-- > 0;) {
      if (!needed[i]) continue;
      mark(genes_[i].inputs[0]);
      if (genes_[i].function.joins()) mark(genes_[i].inputs[1]);
    }
    return needed;
  }

  NodeId end_of(int source) const {
    return source == CgpGrid::kInput ? image_ : ends_[static_cast<std::size_t>(source)];
  }

  NodeId add(const Gene& gene, const std::string& scope) {
    const NodeId from = end_of(gene.inputs[0]);
    switch (gene.function.kind) {
      case Kind::kConv:
        return conv(from, gene.function, scope);
      case Kind::kResidual:
        return residual(from, gene.function, scope);
      case Kind::kMaxPool:
        return pool(from, LayerKind::kMaxPool, scope);
      case Kind::kAvgPool:
        return pool(from, LayerKind::kAvgPool, scope);
      case Kind::kSum:
        return joined(from, end_of(gene.inputs[1]), JoinKind::kAdd, scope);
      case Kind::kConcat:
        return joined(from, end_of(gene.inputs[1]), JoinKind::kConcat, scope);
    }
    return from;
  }

  NodeId conv(NodeId from, const CgpFunction& function, const std::string& scope) {
    Path path(builder_, from, scope);
    path.conv({.channels = function.channels, .kernel = function.kernel}, "conv");
    path.batch_norm("bn");
    path.activate(Activation::kRelu, "act");
    return path.end();
  }

  NodeId residual(NodeId from, const CgpFunction& function, const std::string& scope) {
    Path path(builder_, from, scope);
    path.conv({.channels = function.channels, .kernel = function.kernel}, "conv1");
    path.batch_norm("bn1");
    path.activate(Activation::kRelu, "act1");
    path.conv({.channels = function.channels, .kernel = function.kernel}, "conv2");
    path.batch_norm("bn2");
    const NodeId branch = path.end();
    path.jump_to(from);
    if (path.shape().channels != function.channels) path.projection(function.channels, 1);
    path.join(LayerKind::kAdd, {branch, path.end()}, "add");
    path.activate(Activation::kRelu, "act2");
    return path.end();
  }

  NodeId pool(NodeId from, LayerKind kind, const std::string& scope) {
    Path path(builder_, from, scope);
    const Shape& image = path.shape();
    const bool is_sequence = image.height == 1;
    if (image.width >= 2 && (image.height >= 2 || is_sequence)) path.pool(kind, 2, 2, "pool");
    return path.end();
  }

  NodeId joined(NodeId one, NodeId other, JoinKind kind, const std::string& scope) {
    return one == other ? one : join(builder_, kind, {one, other}, scope);
  }

  NetworkBuilder& builder_;
  const NodeId image_;
  const std::vector<Gene> genes_;
  std::vector<NodeId> ends_;  // the last layer of every node that was built
};

}  // namespace

Result<Implied> imply_cgp(json& architecture) {
  json& section = architecture.at("cgp");
  DETOL_ASSIGN(CgpGrid grid, cgp_grid_of(section));
  std::vector<Value> functions;
  for (const CgpFunction& function : grid.functions) functions.emplace_back(function.word);
  Implied implied;
  const auto choice = [&](std::string name, std::vector<Value> words) {
    implied.choices.push_back(word_choice(name, std::move(words)));
    return json{{"$", std::move(name)}};
  };
  section["node"] = json::array();
  for (int node = 0; node < grid.nodes(); ++node) {
    const std::string name = fmt::format("architecture.cgp.node[{}]", node);
    const std::vector<Value> sources = sources_of(grid, grid.column_of(node));
    json op = choice(name + ".op", functions);
    json first = choice(name + ".input[0]", sources), second = choice(name + ".input[1]", sources);
    section["node"].push_back(
        {{"op", std::move(op)}, {"input", json::array({std::move(first), std::move(second)})}});
  }
  section["output"] = choice("architecture.cgp.output", sources_of(grid, grid.columns));
  implied.rules = cgp_rules(std::move(grid));
  return implied;
}

Result<Network> decode_cgp(const json& architecture, const Task& task) {
  const json& section = architecture.at("cgp");
  DETOL_ASSIGN(const CgpGrid grid, cgp_grid_of(section));
  DETOL_ASSIGN(std::vector<Gene> genes, genes_of(section, grid));
  DETOL_ASSIGN(const int output, source_of(section.at("output"), static_cast<int>(genes.size())));
  NetworkBuilder builder(task.input);
  Path path(builder, builder.input(), "");
  add_stem(path, architecture.value("stem", json{{"op", "none"}}));
  path.jump_to(CgpBuilder(builder, path.end(), std::move(genes)).build(output));
  add_head(path, architecture.value("head", json::object()), task.classes);
  return builder.build(path.end());
}

}  // namespace detol::inline encoding

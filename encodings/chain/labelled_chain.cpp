// The graph of encoding `chain`: a path. Every stage has a vertex for the width of its tensors,
// followed by one for every block, labelled with its operation and kernel. Widths are rounded down
// to powers of two, so that similar ones have one label. Finer settings (dropout, expansion,
// activation) are left to kernels of the choices themselves; an `identity` is no vertex.
//
//   input - conv_bn_relu - width 16 - conv 3 - conv 3 - width 32 - residual 5 - flatten_linear
//
// An architecture of single layers has a vertex for every word.

#include <fmt/format.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "encodings/chain/chain.h"
#include "encodings/common/graph_builder.h"
#include "encodings/common/parameter_reference.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;
using Codes = std::span<const double>;
using Label = std::uint64_t;

Label word_in(const Value& word) {
  return label_of(std::get<std::string>(word));
}

std::int64_t whole_in(const Value& value) {
  return std::get<std::int64_t>(value);
}

// Returns the label of a width; 0 for width 0, where there is no such layer.
Label width_in(const Value& value) {
  const auto width = static_cast<std::uint64_t>(whole_in(value));
  return width == 0 ? 0 : label_of(fmt::format("width {}", std::bit_floor(width)));
}

class PathGraphBuilder {
 public:
  void add(Label label) { end_ = graph_.add(label, {end_}); }
  LabelledGraph build() {
    add(label_of("output"));
    return graph_.build({end_});
  }

 private:
  GraphBuilder graph_;
  GraphBuilder::Vertex end_ = graph_.add(label_of("input"), {});
};

struct BlockOperation {
  Label label = 0;  // 0: identity
  bool has_kernel = false;
};

BlockOperation operation_in(const Value& value) {
  const auto& word = std::get<std::string>(value);
  return {word == "identity" ? 0 : label_of(word), word != "identity" && word != "dense"};
}

struct Stage {
  ParameterReference<std::int64_t> depth;
  ParameterReference<Label> width;
  ParameterReference<BlockOperation> operation;
  ParameterReference<std::int64_t> kernel;
};

Stage stage_of(const json& section, std::size_t index, const Space& space) {
  const json& block = section.at("block");
  const Label grown = label_of(index == 0 ? "width as before" : "twice the width");
  return {{section_value_at(section, "depth", space), space, whole_in, 1},
          {section_value_at(section, "channels", space), space, width_in, grown},
          {section_value_at(block, "op", space), space, operation_in},
          {section_value_at(block, "kernel", space), space, whole_in, 3}};
}

void add_stage(PathGraphBuilder& path, const Stage& stage, Codes codes) {
  const std::int64_t depth = stage.depth.in(codes);
  if (depth == 0) return;
  path.add(stage.width.in(codes));
  const BlockOperation operation = stage.operation.in(codes);
  if (operation.label == 0) return;
  const auto kernel = static_cast<std::uint64_t>(stage.kernel.in(codes));
  const Label label =
      operation.has_kernel ? hash_combine(operation.label, kernel) : operation.label;
  for (std::int64_t i = 0; i < depth; ++i) path.add(label);
}

// The stem or the head: its operation and its width, where it has them.
struct StemOrHead {
  ParameterReference<Label> operation, width;
};

StemOrHead stem_or_head(const json& architecture, const char* key, const char* width,
                        const char* otherwise, const Space& space) {
  const json section = architecture.value(key, json::object());
  return {{section_value_at(section, "op", space), space, word_in, label_of(otherwise)},
          {section_value_at(section, width, space), space, width_in, 0}};
}

void add_stem_or_head(PathGraphBuilder& path, const StemOrHead& end, Codes codes) {
  static const Label kNone = label_of("none");
  const Label operation = end.operation.in(codes), width = end.width.in(codes);
  if (operation == kNone) return;
  path.add(operation);
  if (width != 0) path.add(width);
}

GraphOfCodes labelled_stages(const json& architecture, const Space& space) {
  const StemOrHead stem = stem_or_head(architecture, "stem", "channels", "conv_bn_relu", space);
  const StemOrHead head =
      stem_or_head(architecture, "head", "hidden", "global_avg_pool_linear", space);
  std::vector<Stage> stages;
  for (const json& stage : architecture.at("stages"))
    stages.push_back(stage_of(stage, stages.size(), space));
  return [stem, head, stages = std::move(stages)](Codes codes) {
    PathGraphBuilder path;
    add_stem_or_head(path, stem, codes);
    for (const Stage& stage : stages) add_stage(path, stage, codes);
    add_stem_or_head(path, head, codes);
    return path.build();
  };
}

GraphOfCodes labelled_layers(const json& architecture, const Space& space) {
  std::vector<ParameterReference<Label>> words;
  for (const json& word : architecture.at("layers").at("word"))
    words.emplace_back(section_value(word, space), space, word_in);
  return [words = std::move(words)](Codes codes) {
    static const Label kEnd = label_of("end"), kPool = label_of("global_avg_pool");
    PathGraphBuilder path;
    for (const ParameterReference<Label>& word : words) {
      const Label label = word.in(codes);
      if (label != kEnd) path.add(label);
      if (label == kEnd || label == kPool) break;
    }
    return path.build();
  };
}

}  // namespace

GraphOfCodes labelled_chain(const json& architecture, const Space& space) {
  return architecture.contains("layers") ? labelled_layers(architecture, space)
                                         : labelled_stages(architecture, space);
}

}  // namespace detol::inline encoding

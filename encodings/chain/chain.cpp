// Encoding `chain`: a stem, stages of equal blocks, a head, one after another; or, with the section
// `layers` in place of `stages`, single layers: see encodings/chain/sequence.cpp. Every stage
// has `depth` blocks of one kind; its first block carries the stage's stride and change of
// channels. Stage 0 keeps size and channels, every later one halves the size and doubles the
// channels, unless `stride` or `channels` is given.
//
//   stem          conv k - bn - act                     (op none: the image as it is)
//   conv          conv k, dilated - bn - act [- se]
//   residual      conv k - bn - act - conv k - bn [- se] [- dropout] - add - act; the shortcut
//                 is a 1x1 conv - bn where the shape changes (He et al., 2016, arXiv 1512.03385)
//   mbconv        1x1 conv to expansion x channels - bn - act - depthwise k - bn - act [- se]
//                 - 1x1 conv - bn [- dropout - add, where the shape stays]; the expanding conv
//                 is missing at expansion 1 (Sandler et al., 2018, arXiv 1801.04381)
//   separable_conv  depthwise k - 1x1 conv - bn - act [- se]
//   max_pool, avg_pool  pool k [- 1x1 conv - bn, where the channels change]
//   identity      nothing; where only the size changes avg_pool 3, else 1x1 conv - bn
//   dense         dense over the flattened input [- bn or layer norm] - act
//   residual_dense  batch or layer norm - dense expansion x channels - act - dropout - dense - add;
//                 a dense layer before it where the width changes (Gorishniy et al., 2021,
//                 arXiv 2106.11959)
//   attention     [conv k, where size or channels change -] norm - 1x1 conv - attention - 1x1 conv
//   -
//                 add - norm - 1x1 conv to expansion x channels - act - [dropout -] 1x1 conv - add
//                 (Vaswani et al., 2017, arXiv 1706.03762; norms first, as in Xiong et al., 2020,
//                 arXiv 2002.04745); its norm is `layer` unless another is given. If `gated`, what
//                 is expanded is multiplied by act of a second 1x1 conv instead (GLU, with silu
//                 SwiGLU: Shazeer, 2020, arXiv 2002.05202)
//   se            global_avg_pool - dense to a quarter - act - dense - sigmoid, times the input
//                 (Hu et al., 2018, arXiv 1709.01507)
//   head          global_avg_pool or flatten [- dense hidden - act] [- dropout] - dense
//
// Layers before a batch norm have no bias. Over a sequence (an image one pixel high) every window
// is 1 x k. `dropout` of a block comes last, but before an addition. Keys that an op does not use
// are ignored.

#include "encodings/chain/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "encodings/chain/sequence.h"
#include "encodings/common/path.h"
#include "encodings/common/stem_and_head.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;

// kNoNorm stands beside the words of the norms.
constexpr std::string_view kNoNorm = "none";

// Returns the norm of a word; nullopt: none. REQUIRES: it is one of block_norms().
std::optional<LayerKind> norm_called(std::string_view word) {
  for (const LayerRow& row : layer_rows()) {
    if (!row.norm.empty() && row.norm == word) return row.kind;
  }
  return std::nullopt;
}

struct Block {
  std::string op;
  std::int64_t kernel = 3;
  std::int64_t dilation = 1;
  std::int64_t expansion = 4;
  std::int64_t heads = 4;
  std::int64_t key_heads = 4;
  bool causal = false;
  bool rotary = false;
  bool gated = false;
  bool se = false;
  std::optional<LayerKind> norm = LayerKind::kBatchNorm;  // of the dense ones and of attention
  Activation activation = Activation::kRelu;
  double dropout = 0;
};

Block block_of(const json& section) {
  const auto heads = section.value("heads", std::int64_t{4});
  const bool attends = section.at("op") == "attention";
  return {.op = section.at("op"),
          .kernel = section.value("kernel", std::int64_t{3}),
          .dilation = section.value("dilation", std::int64_t{1}),
          .expansion = section.value("expansion", std::int64_t{4}),
          .heads = heads,
          .key_heads = section.value("key_heads", heads),
          .causal = section.value("causal", false),
          .rotary = section.value("rotary", false),
          .gated = section.value("gated", false),
          .se = section.value("se", false),
          .norm = norm_called(section.value("norm", attends ? "layer" : "batch")),
          .activation = activation_of(section),
          .dropout = section.value("dropout", 0.0)};
}

// Chain: a network that is one path with side branches.
class Chain : public Path {
 public:
  explicit Chain(Shape input) : Path(builder_, 0, ""), builder_(input) {}

  Result<Network> build() const { return builder_.build(end()); }

  void squeeze_excite(const Block& block) {
    if (!block.se) return;
    const NodeId input = end();
    const std::int64_t channels = shape().channels;
    add({.kind = LayerKind::kGlobalAvgPool}, "se.pool");
    dense(std::max<std::int64_t>(1, channels / 4), true, "se.reduce");
    activate(block.activation, "se.act");
    dense(channels, true, "se.expand");
    activate(Activation::kSigmoid, "se.gate");
    join(LayerKind::kScale, {input, end()}, "se.scale");
  }

  void normalise(const Block& block, std::string_view number = "") {
    if (!block.norm) return;
    const bool is_of_batch = block.norm == LayerKind::kBatchNorm;
    add({.kind = *block.norm}, fmt::format("{}{}", is_of_batch ? "bn" : "ln", number));
  }

 private:
  NetworkBuilder builder_;
};

void add_conv(Chain& chain, const Block& block, std::int64_t channels, std::int64_t stride) {
  chain.conv(
      {.channels = channels, .kernel = block.kernel, .stride = stride, .dilation = block.dilation},
      "conv");
  chain.batch_norm("bn");
  chain.activate(block.activation, "act");
  chain.squeeze_excite(block);
  chain.dropout(block.dropout);
}

void add_residual(Chain& chain, const Block& block, std::int64_t channels, std::int64_t stride) {
  const NodeId input = chain.end();
  const bool changes = stride != 1 || chain.shape().channels != channels;
  chain.conv({.channels = channels, .kernel = block.kernel, .stride = stride}, "conv1");
  chain.batch_norm("bn1");
  chain.activate(block.activation, "act1");
  chain.conv({.channels = channels, .kernel = block.kernel}, "conv2");
  chain.batch_norm("bn2");
  chain.squeeze_excite(block);
  chain.dropout(block.dropout);
  const NodeId branch = chain.end();
  chain.jump_to(input);
  if (changes) chain.projection(channels, stride);
  chain.join(LayerKind::kAdd, {branch, chain.end()}, "add");
  chain.activate(block.activation, "act2");
}

void add_mbconv(Chain& chain, const Block& block, std::int64_t channels, std::int64_t stride) {
  const NodeId input = chain.end();
  const bool changes = stride != 1 || chain.shape().channels != channels;
  const std::int64_t wide = chain.shape().channels * block.expansion;
  if (block.expansion > 1) {
    chain.conv({.channels = wide}, "expand.conv");
    chain.batch_norm("expand.bn");
    chain.activate(block.activation, "expand.act");
  }
  chain.conv({.channels = wide, .kernel = block.kernel, .stride = stride, .groups = wide},
             "depthwise.conv");
  chain.batch_norm("depthwise.bn");
  chain.activate(block.activation, "depthwise.act");
  chain.squeeze_excite(block);
  chain.conv({.channels = channels}, "project.conv");
  chain.batch_norm("project.bn");
  chain.dropout(block.dropout);
  if (!changes) chain.join(LayerKind::kAdd, {chain.end(), input}, "add");
}

void add_separable_conv(Chain& chain, const Block& block, std::int64_t channels,
                        std::int64_t stride) {
  const std::int64_t before = chain.shape().channels;
  chain.conv({.channels = before, .kernel = block.kernel, .stride = stride, .groups = before},
             "depthwise");
  chain.conv({.channels = channels}, "pointwise");
  chain.batch_norm("bn");
  chain.activate(block.activation, "act");
  chain.squeeze_excite(block);
  chain.dropout(block.dropout);
}

void add_pool(Chain& chain, const Block& block, std::int64_t channels, std::int64_t stride) {
  const LayerKind kind = block.op == "max_pool" ? LayerKind::kMaxPool : LayerKind::kAvgPool;
  chain.pool(kind, block.kernel, stride, "pool");
  if (chain.shape().channels != channels) chain.projection(channels, 1);
  chain.dropout(block.dropout);
}

void add_identity(Chain& chain, const Block& block, std::int64_t channels, std::int64_t stride) {
  if (chain.shape().channels != channels) {
    chain.projection(channels, stride);
  } else if (stride != 1) {
    chain.pool(LayerKind::kAvgPool, 3, stride, "pool");
  }
  chain.dropout(block.dropout);
}

void add_dense(Chain& chain, const Block& block, std::int64_t channels, std::int64_t) {
  chain.dense(channels, block.norm != LayerKind::kBatchNorm, "dense");
  chain.normalise(block);
  chain.activate(block.activation, "act");
  chain.dropout(block.dropout);
}

void add_residual_dense(Chain& chain, const Block& block, std::int64_t channels, std::int64_t) {
  const Shape& shape = chain.shape();
  if (shape.elements() != channels || shape.height * shape.width != 1)
    chain.dense(channels, true, "project");
  const NodeId input = chain.end();
  chain.normalise(block);
  chain.dense(channels * block.expansion, true, "expand");
  chain.activate(block.activation, "act");
  chain.dropout(block.dropout);
  chain.dense(channels, true, "dense");
  chain.join(LayerKind::kAdd, {chain.end(), input}, "add");
}

void add_attention(Chain& chain, const Block& block, std::int64_t channels, std::int64_t stride) {
  if (stride != 1 || chain.shape().channels != channels)
    chain.conv({.channels = channels, .kernel = block.kernel, .stride = stride, .bias = true},
               "reduce");
  const NodeId input = chain.end();
  chain.normalise(block, "1");
  const std::int64_t keys = channels * block.key_heads / block.heads;
  chain.conv({.channels = channels + 2 * keys, .bias = true}, "qkv");
  chain.add({.kind = LayerKind::kAttention,
             .heads = block.heads,
             .key_heads = block.key_heads,
             .causal = block.causal,
             .rotary = block.rotary},
            "attention");
  chain.conv({.channels = channels, .bias = true}, "out");
  chain.join(LayerKind::kAdd, {chain.end(), input}, "add1");
  const NodeId mixed = chain.end();
  chain.normalise(block, "2");
  const NodeId normal = chain.end();
  chain.conv({.channels = channels * block.expansion, .bias = true}, "expand");
  const NodeId wide = chain.end();
  if (block.gated) {
    chain.jump_to(normal);
    chain.conv({.channels = channels * block.expansion, .bias = true}, "gate");
  }
  chain.activate(block.activation, "act");
  if (block.gated) chain.join(LayerKind::kScale, {wide, chain.end()}, "gated");
  chain.dropout(block.dropout);
  chain.conv({.channels = channels, .bias = true}, "project");
  chain.join(LayerKind::kAdd, {chain.end(), mixed}, "add2");
}

struct OpRow {
  std::string_view name;
  void (*add)(Chain&, const Block&, std::int64_t channels, std::int64_t stride);
};

constexpr std::array kOps = {
    OpRow{"conv", add_conv},         OpRow{"residual", add_residual},
    OpRow{"mbconv", add_mbconv},     OpRow{"separable_conv", add_separable_conv},
    OpRow{"max_pool", add_pool},     OpRow{"avg_pool", add_pool},
    OpRow{"identity", add_identity}, OpRow{"attention", add_attention},
    OpRow{"dense", add_dense},       OpRow{"residual_dense", add_residual_dense},
};

void add_stage(Chain& chain, const json& stage, std::size_t index) {
  const Block block = block_of(stage.at("block"));
  const std::int64_t growth = index == 0 ? 1 : 2;
  const std::int64_t channels = stage.value("channels", chain.shape().channels * growth);
  const std::int64_t stride = stage.value("stride", growth);
  const std::int64_t depth = stage.value("depth", std::int64_t{1});
  const OpRow& row = known_row<OpRow>(kOps, block.op);
  for (std::int64_t i = 0; i < depth; ++i) {
    chain.enter(fmt::format("stages.{}.{}", index, i));
    row.add(chain, block, channels, i == 0 ? stride : 1);
  }
}

}  // namespace

std::span<const std::string_view> block_operations() {
  static const auto kWords = names_of<OpRow>(kOps);
  return kWords;
}

std::span<const std::string_view> block_norms() {
  static const auto kWords = [] {
    std::vector<std::string_view> words;
    for (const LayerRow& row : layer_rows()) {
      if (!row.norm.empty()) words.push_back(row.norm);
    }
    words.push_back(kNoNorm);
    return words;
  }();
  return kWords;
}

Result<Implied> imply_chain(json& architecture) {
  const bool has_stages = architecture.contains("stages");
  const bool has_layers = architecture.contains("layers");
  if (has_stages && has_layers)
    return fail(ErrorCode::kInput, "architecture: 'layers' cannot stand beside 'stages'");
  if (has_layers) return imply_layers(architecture);
  if (!has_stages || architecture["stages"].empty()) {
    return fail(ErrorCode::kInput,
                "architecture: a chain needs 'stages', a list of at least one item, or 'layers'");
  }
  return Implied{};
}

Result<Network> decode_chain(const json& architecture, const Task& task) {
  if (architecture.contains("layers")) return decode_layers(architecture, task);
  Chain chain(task.input);
  add_stem(chain, architecture.value("stem", json::object()));
  const json& stages = architecture.at("stages");
  for (std::size_t i = 0; i < stages.size(); ++i) add_stage(chain, stages[i], i);
  add_head(chain, architecture.value("head", json::object()), task.classes);
  return chain.build();
}

}  // namespace detol::inline encoding

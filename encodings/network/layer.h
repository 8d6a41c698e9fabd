#pragma once

// Layer: one operation of a network, with its shape rule, its parameters and its FLOPs.
// A new layer type is one row in layer.cpp, plus everything that goes through networks layer by
// layer: README.md of this folder lists it.
//
// Shapes are per image, channels x height x width; a vector is channels x 1 x 1.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/network/activation.h"

namespace detol::inline encoding {

struct Shape {
  std::int64_t channels = 0;
  std::int64_t height = 1;
  std::int64_t width = 1;
  friend bool operator==(const Shape&, const Shape&) = default;
  std::int64_t elements() const { return channels * height * width; }  // REQUIRES: a checked shape
};

std::string to_text(const Shape& shape);  // "16x32x32"

enum class LayerKind {
  kInput,          // the image, normalised
  kConv,           // cross-correlation, padding (kernel - 1) * dilation / 2 on every side
  kDense,          // y = W x + b over a flattened input
  kBatchNorm,      // per channel; epsilon 1e-5, running statistics with momentum 0.1
  kActivation,     // element by element
  kMaxPool,        // kernel, stride; padding (kernel - 1) / 2, never chosen as the maximum
  kAvgPool,        // kernel, stride; padding (kernel - 1) / 2, not counted in the mean
  kGlobalAvgPool,  // C x H x W -> C x 1 x 1
  kFlatten,        // C x H x W -> CHW x 1 x 1
  kAdd,            // element by element, two inputs or more of one shape
  // x (C x H x W) times s, inputs in that order: a number for each channel (C x 1 x 1, as in
  // squeeze-excite) or for each element (C x H x W, as in gated linear units).
  kScale,
  kDropout,        // training: zero with probability `rate`, else times 1 / (1 - rate)
  kConcat,         // the channels of two inputs or more of one height and width, in their order
  kLayerNorm,      // over the channels of each position; epsilon 1e-5, gamma and beta per channel
  // Rounds each number to one of 256 levels: clamp(round(x / scale) + zero_point, 0, 255), as a
  // number again (ONNX's QuantizeLinear and DequantizeLinear; halves to even). The gradient passes.
  kQuantize,
  kRmsNorm,  // as kLayerNorm, but divided by the root of the mean square, without mean and beta
  // Multi-head attention over the positions, whose order is that of rows and columns (Vaswani et
  // al., 2017, arXiv 1706.03762). The channels of the input are queries, keys and values: of each
  // head one after the other, all equally wide. Several heads in turn may share one of the
  // `key_heads` (Ainslie et al., 2023, arXiv 2305.13245). The output has the heads' channels.
  kAttention,
};

// Layer stores a kind and its settings. Fields that the kind does not use keep their defaults, so
// that equal layers compare equal.
struct Layer {
  LayerKind kind = LayerKind::kInput;
  std::int64_t channels = 0;  // kConv, kDense: outputs
  std::int64_t kernel = 1;    // kConv (odd), kMaxPool, kAvgPool: of the window, in both directions
  std::int64_t kernel_height = 0;  // height of the window, 1 for sequences; 0: as `kernel`
  std::int64_t stride = 1;         // kConv, kMaxPool, kAvgPool
  std::int64_t groups = 1;         // kConv: divides inputs and outputs; = inputs for depthwise
  std::int64_t dilation = 1;       // kConv
  bool bias = false;               // kConv, kDense
  Activation activation = Activation::kRelu;  // kActivation
  double rate = 0;                            // kDropout
  std::int64_t heads = 1;                     // kAttention: of the queries
  std::int64_t key_heads = 1;                 // kAttention: of keys and values; divides `heads`
  bool causal = false;  // kAttention: a position sees itself and those before it
  bool rotary = false;  // kAttention: queries and keys turn with their position (attention.h)
  float scale = 0;      // kQuantize: of a level, positive
  std::int64_t zero_point = 0;  // kQuantize: the level of 0, from 0 to 255
  friend bool operator==(const Layer&, const Layer&) = default;
};

// ParameterSpec: one tensor that a layer owns, in the plain layout of checkpoints and exports:
// convolution weights O x I/groups x height x width, dense weights O x I.
struct ParameterSpec {
  std::string_view name;  // weight, bias, gamma, beta, running_mean, running_var
  std::vector<std::int64_t> shape;
  bool trainable = true;  // false: running statistics
  bool decays = false;    // weight decay applies (weights of conv and dense alone)
  std::int64_t elements() const;
};

inline constexpr LayerKind kLastLayerKind = LayerKind::kAttention;

// LayerRole is what a kind is to whoever changes, draws or exports networks.
enum class LayerRole {
  kInput,
  kProduct,      // weights times the input: new channels
  kBatchNorm,    // normalises each channel over the batch
  kChannelNorm,  // normalises the channels of each position: gamma and perhaps beta per channel
  kElementwise,  // changes each number by itself; has no parameters
  kWindow,       // pools each channel over positions
  kReshape,      // moves numbers
  kAttention,    // mixes positions, by weights that it computes
  kJoin,         // of several inputs
};

// Levels says what a layer makes of the 256 levels of its input where a network computes in
// integers: levels of its own, the same ones, or none, as a kernel computes it together with the
// layer before.
enum class Levels { kOwn, kKept, kJoined };

// LayerRow describes a kind of layer: all that no backend and no exporter needs to know by itself
// (docs/architecture/layers.md).
struct LayerRow {
  LayerKind kind;
  std::string_view name;  // in JSON, drawings and messages
  char letter;  // in a network's text (network_text.h); an activation function has its own
  LayerRole role;
  std::size_t fewest_inputs, most_inputs;
  Result<Shape> (*shape)(const Layer&, std::span<const Shape> inputs);
  Levels levels = Levels::kOwn;
  std::vector<ParameterSpec> (*parameters)(const Layer&, std::span<const Shape> inputs) = nullptr;
  double (*flops)(const Layer&, std::span<const Shape> inputs, const Shape& output) = nullptr;
  std::string_view norm = {};  // its word where a block of a space file chooses a norm
};
// Returns the rows, in the order of LayerKind.
std::span<const LayerRow> layer_rows();
const LayerRow& row_of(LayerKind kind);

// Returns "conv", "max_pool", ... for messages, drawings and JSON.
std::string_view to_text(LayerKind kind);

// Return the height of the window, and its padding per side in each direction. REQUIRES: kConv,
// kMaxPool or kAvgPool.
std::int64_t height_of(const Layer& layer);
std::int64_t padding_above(const Layer& layer);
std::int64_t padding_beside(const Layer& layer);

// Returns the channels of a head of a kAttention. REQUIRES: it has a shape.
std::int64_t head_width(const Layer& layer, const Shape& input);

// Returns x on the levels of a kQuantize. REQUIRES: layer.kind is kQuantize.
float on_levels(const Layer& layer, float x);

// Returns the layer's output shape. Errors (kInput) name the broken rule: channels that
// differ, an image smaller than its kernel, a size beyond 2^40 elements.
Result<Shape> output_shape(const Layer& layer, std::span<const Shape> inputs);

// REQUIRES: output_shape(layer, inputs) succeeded.
std::vector<ParameterSpec> parameters_of(const Layer& layer, std::span<const Shape> inputs);

// Returns 2 x multiply-adds of one forward pass of one image, in convolution, dense and attention
// layers only. The result is a double, because an impossible layer's count may pass 2^63.
double flops_of(const Layer& layer, std::span<const Shape> inputs, const Shape& output);

}  // namespace detol::inline encoding

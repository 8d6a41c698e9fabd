#pragma once

// Kernels of our own in the CPU backend: for layers bound by memory (batch norm, ReLU, pooling),
// where fusing saves a pass over a tensor, and for what oneDNN runs slower: dense layers, depthwise
// and 3 x 3 convolutions, and the convolution that reads the image. Private to this folder.
//
// Tensors, but for those of dense layers, are blocked: images x blocks x positions x lanes, where
// one vector register holds the `lanes` channels of a position; missing channels of the last block
// are zero and stay zero.
// There is one table of kernels per instruction set, made from the same source.

#include <array>
#include <cstddef>
#include <cstdint>

#include "encodings/network/activation.h"
#include "trainer/backends/optimizer_functions.h"

namespace detol::inline trainer::cpu {

struct Extent {
  std::ptrdiff_t images = 0, blocks = 0, height = 1, width = 1;
  std::ptrdiff_t positions() const { return height * width; }
};

// y = [ReLU] ((x - mean) * scale + beta [+ addend]), per channel.
struct NormForward {
  Extent extent;
  const float* x = nullptr;
  const float* addend = nullptr;  // or null
  float* y = nullptr;
  const float* mean = nullptr;
  const float* scale = nullptr;  // gamma / deviation
  const float* beta = nullptr;
  bool relu = false;
};

// ActivationKernels run over a multiple of `lanes` floats; the output may be an input.
struct ActivationKernels {
  void (*value)(const float* x, float* y, std::size_t floats);
  // `at` holds values where has_slope_of_value(), else arguments (activation_functions.h).
  void (*gradient)(const float* at, const float* g, float* dx, std::size_t floats);
};

// g = (term + other term) where y > 0; then the sums over a channel of g and of g * (x - mean).
struct NormSums {
  NormForward forward;           // y is read if there is an addend, else computed again from x
  const float* term = nullptr;   // the gradient of y
  const float* other = nullptr;  // a second term of it, or null
  float* g = nullptr;            // written if not null; may be `term`
  double* sum = nullptr;         // per channel
  double* moment = nullptr;      // per channel
};

// dx = scale * (g - mean_g - (x - mean) * slope), per channel.
struct NormBackward {
  NormForward forward;  // relu: g is not masked yet
  const float* g = nullptr;
  const float* mean_g = nullptr;
  const float* slope = nullptr;
  float* dx = nullptr;  // may be g
};

// Window slides over every channel separately: pooling, depthwise convolution.
struct Window {
  Extent in, out;
  std::ptrdiff_t height = 1, width = 1, stride = 1, dilation = 1;
  std::ptrdiff_t above = 0, beside = 0;  // padding on either side
  std::ptrdiff_t taps() const { return height * width; }
  // Returns the zeros that the outputs' gradient needs on either side, for a window of `size` taps,
  // to reach all inputs.
  std::ptrdiff_t gradient_margin(std::ptrdiff_t size) const {
    return (size - 1) * dilation / stride + 1;
  }
  // Counts the floats of one block of channels of one image, or of its gradient, with padding.
  std::ptrdiff_t padded_floats(std::ptrdiff_t lanes) const {
    const std::ptrdiff_t image = (in.height + 2 * above) * (in.width + 2 * beside);
    const std::ptrdiff_t gradient =
        (out.height + 2 * gradient_margin(height)) * (out.width + 2 * gradient_margin(width));
    return (image > gradient ? image : gradient) * lanes;
  }
};

struct Dropout {
  Extent extent;
  std::ptrdiff_t groups = 1;  // groups of channels that share a block of the stream, per position
  std::ptrdiff_t first = 0;   // images of the whole batch before these
  std::uint64_t key = 0;
  std::int32_t threshold = 0;
  float kept = 1;
};

// LayerNorm normalises the channels of every position: y = normal * gamma + beta.
struct LayerNorm {
  Extent extent;
  std::ptrdiff_t channels = 0;  // without padding
  const float* x = nullptr;
  const float* gamma = nullptr;
  const float* beta = nullptr;
  float* mean = nullptr;     // per image and position
  float* inverse = nullptr;  // 1 / deviation, per image and position
};

// ImageWindow: a convolution that reads a plain image.
struct ImageWindow {
  std::ptrdiff_t channels = 1, height = 1, width = 1;  // of the image
  std::ptrdiff_t kernel_height = 1, kernel_width = 1, stride = 1;
  std::ptrdiff_t above = 0, beside = 0;  // padding on either side
  Extent out;
  std::ptrdiff_t padded_floats() const {
    return channels * (height + 2 * above) * (width + 2 * beside);
  }
};
inline constexpr std::ptrdiff_t kMostImageTaps = 256;  // channels counted

// DenseShape: a dense layer over plain vectors.
struct DenseShape {
  std::ptrdiff_t images = 0, inputs = 0, outputs = 0;
};

// Block sizes of a dense layer's products: depth, images, inputs.
inline constexpr std::ptrdiff_t kDenseDepth = 256, kDenseImages = 128, kDenseInputs = 48;

// Returns the floats of scratch memory of a dense layer; `outputs` is padded to whole registers.
constexpr std::ptrdiff_t dense_scratch(std::ptrdiff_t outputs, std::ptrdiff_t lanes) {
  const std::ptrdiff_t backward = kDenseDepth * 3 * lanes;
  const std::ptrdiff_t weights = kDenseImages * (kDenseInputs + outputs);
  return backward > weights ? backward : weights;
}

// Tiles of 4 x 4 outputs that a Winograd convolution computes at a time.
inline constexpr std::ptrdiff_t kWinogradTiles = 48;
inline constexpr std::ptrdiff_t kWinogradGap = 16;  // floats between scratch buffers

// Returns the floats of scratch memory of a Winograd convolution; channels are padded to whole
// registers.
constexpr std::ptrdiff_t winograd_scratch(std::ptrdiff_t inputs, std::ptrdiff_t outputs) {
  return (36 + 9) * inputs * outputs + 36 * kWinogradTiles * (inputs + outputs) +
         kWinogradGap * 3 * 36;
}

// AttentionShape: attention over images of blocks x positions x lanes
// (trainer/backends/attention.h).
struct AttentionShape {
  std::ptrdiff_t images = 0, heads = 1, key_heads = 1, width = 1, positions = 1;
  std::ptrdiff_t in_blocks = 0, out_blocks = 0;
  bool causal = false;
  float scale = 1;
};
inline constexpr std::ptrdiff_t kAttentionRows = 48,
                                kAttentionKeys = 64;  // queries, keys at a time

constexpr std::ptrdiff_t rows_of_attention(std::ptrdiff_t positions) {
  return (positions + kAttentionKeys - 1) / kAttentionKeys * kAttentionKeys;
}
// Returns the floats of scratch memory of attention; `width` is padded to whole registers.
constexpr std::ptrdiff_t attention_scratch(std::ptrdiff_t width, std::ptrdiff_t positions) {
  return rows_of_attention(positions) * (11 * width + 2 * kAttentionRows);
}

struct Kernels {
  std::ptrdiff_t lanes;

  // Computes mean and biased variance of each channel, in double precision.
  void (*norm_statistics)(const Extent&, const float* x, double* mean, double* variance);
  void (*norm_forward)(const NormForward&);
  void (*norm_sums)(const NormSums&);
  void (*norm_backward)(const NormBackward&);

  // Writes `mean` and `inverse`, too.
  void (*layer_norm)(const LayerNorm&, float* y);
  void (*layer_norm_backward)(const LayerNorm&, const float* g, float* dx);
  void (*layer_norm_weights)(const LayerNorm&, const float* g, float* dgamma, float* dbeta);

  // Run over a multiple of `lanes` floats; the output may be an input.
  std::array<ActivationKernels, kActivations.size()> activations;  // in the order of Activation
  void (*add)(const float* a, const float* b, float* y, std::size_t floats);
  void (*multiply)(const float* a, const float* b, float* y, std::size_t floats);
  // Draws the mask, see trainer/backends/dropout.h, and applies it.
  void (*dropout)(const Dropout&, const float* x, float* mask, float* y);
  // Updates weights of one rule; `second` may be null if the optimiser has one moment.
  void (*update)(OptimizerKind, const OptimizerRule<float>&, float* w, const float* g, float* first,
                 float* second, std::size_t floats);
  void (*multiply_all)(float factor, float* x, std::size_t floats);
  // a = kept a + (1 - kept) w
  void (*average)(float kept, const float* w, float* a, std::size_t floats);

  // y = x * s, s one value per image and channel.
  void (*scale)(const Extent&, const float* x, const float* s, float* y);
  // ds = the sum over positions of g * x.
  void (*scale_gradient)(const Extent&, const float* g, const float* x, float* ds);
  void (*global_pool)(const Extent&, const float* x, float* y);
  void (*global_pool_backward)(const Extent&, const float* g, float* dx);

  // `best` stores the index of the window's largest tap, or -1 if none exceeds `floor`, the
  // smallest possible y.
  void (*max_pool)(const Window&, float floor, const float* x, float* y, std::int32_t* best);
  void (*max_pool_backward)(const Window&, const float* g, const std::int32_t* best, float* dx);
  void (*avg_pool)(const Window&, const float* x, float* y);
  void (*avg_pool_backward)(const Window&, const float* g, float* dx);

  // `table`: of the angles of rotary positions, or null; statistics: 2 per image, head and
  // position, written forward; scratch: attention_scratch(). Padding of y and dx is left as it is.
  void (*attention)(const AttentionShape&, const float* table, const float* x, float* y,
                    float* statistics, float* scratch);
  void (*attention_backward)(const AttentionShape&, const float* table, const float* x,
                             const float* statistics, const float* g, float* dx, float* scratch);

  // Weights: blocks x height x width x lanes; scratch: padded_floats(). `bias` and `dbias` may be
  // null.
  void (*depthwise)(const Window&, const float* x, const float* w, const float* bias, float* y,
                    float* scratch);
  void (*depthwise_backward)(const Window&, const float* g, const float* w, float* dx,
                             float* scratch);
  void (*depthwise_weights)(const Window&, const float* x, const float* g, float* dw, float* dbias,
                            float* scratch);

  // Weights: blocks of outputs x taps (row, column, channel) x outputs of a block; scratch:
  // padded_floats(). REQUIRES: stride 1 or 2, at most kMostImageTaps taps.
  void (*image)(const ImageWindow&, const float* x, const float* w, const float* bias, float* y,
                float* scratch);
  void (*image_weights)(const ImageWindow&, const float* x, const float* g, float* dw, float* dbias,
                        float* scratch);

  // Weights: blocks of outputs x inputs x outputs of a block; scratch: dense_scratch(). `bias` and
  // `dbias` may be null.
  void (*dense)(const DenseShape&, const float* x, const float* w, const float* bias, float* y);
  void (*dense_backward)(const DenseShape&, const float* g, const float* w, float* dx,
                         float* scratch);
  void (*dense_weights)(const DenseShape&, const float* x, const float* g, float* dw, float* dbias,
                        float* scratch);

  // 3 x 3 taps, stride 1, padding 1, by Winograd F(4 x 4, 3 x 3); `in` and `out` differ only in
  // blocks. Weights: blocks of outputs x blocks of inputs x 9 x inputs x outputs of a block;
  // scratch: winograd_scratch(). `bias` and `dbias` may be null.
  void (*winograd)(const Extent& in, const Extent& out, const float* x, const float* w,
                   const float* bias, float* y, float* scratch);
  void (*winograd_backward)(const Extent& in, const Extent& out, const float* g, const float* w,
                            float* dx, float* scratch);
  void (*winograd_weights)(const Extent& in, const Extent& out, const float* x, const float* g,
                           float* dw, float* dbias, float* scratch);
};

extern const Kernels kBaselineKernels;  // 8 lanes, as the program is compiled
extern const Kernels kAvx512Kernels;    // 16 lanes; REQUIRES: a processor with AVX-512

}  // namespace detol::inline trainer::cpu

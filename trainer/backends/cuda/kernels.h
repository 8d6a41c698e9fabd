#pragma once

// Our own kernels, for what no library computes: calls that append work to a stream and return at
// once. Private to this folder.
//
// Tensors are N x H x W x C in floats or bfloat16, their channels padded with zeros to a multiple
// of kLanes. Arithmetic is in single precision but for the loss; sums over rows are combined in
// double, and all sums in a fixed order, so that a run repeats to the bit. "Rows" are the positions
// of all images, N x H x W. Pointers are to memory of the device unless stated otherwise.

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "encodings/network/activation.h"
#include "trainer/backends/backend.h"
#include "trainer/backends/optimizer_functions.h"
#include "trainer/backends/program/update_numbers.h"

namespace detol::inline trainer::cuda {

using Stream = cudaStream_t;

inline constexpr std::int64_t kLanes = 8;  // channels of a pack: 16 bytes in bfloat16
constexpr std::int64_t padded(std::int64_t channels) {
  return (channels + kLanes - 1) / kLanes * kLanes;
}

enum class Type { kFloat, kBfloat16 };
constexpr std::size_t size_of(Type type) {
  return type == Type::kFloat ? sizeof(float) : 2;
}

// StepRow holds the numbers that change from step to step; the kernels of a graph read them here.
struct StepRow : program::UpdateNumbers {
  std::int64_t first_image = 0;  // index of the batch's first image in BatchCall::order
  std::int64_t result = 0;       // index of the step's result in LossCall::results
};

// --- element by element: count is a multiple of kLanes -------------------------------------------

void add(Type type, const void* a, const void* b, void* sum, std::int64_t count, Stream stream);
void multiply(Type type, const void* a, const void* b, void* y, std::int64_t count, Stream stream);
void activate(Type type, Activation function, const void* x, void* y, std::int64_t count,
              Stream stream);
// dx = g or, if `other` is not null, g + other, times the slope at `at`: the function's value where
// has_slope_of_value(), else its argument.
void activate_backward(Type type, Activation function, const void* at, const void* g,
                       const void* other, void* dx, std::int64_t count, Stream stream);
// The levels of a kQuantize (encodings/network/layer.h).
struct Levels {
  float scale, zero_point;
};
void quantize(Type type, Levels levels, const void* x, void* y, std::int64_t count, Stream stream);
// Zeroes the padding of every row, after its first `channels` channels.
void clear_padding(Type type, void* values, std::int64_t rows, std::int64_t channels,
                   Stream stream);
// values[i] *= *factor
void multiply_by(float* values, const float* factor, std::int64_t count, Stream stream);
// to[i] = from[i] in the other type; any count
void to_floats(Type type, const void* from, float* to, std::int64_t count, Stream stream);
void from_floats(Type type, const float* from, void* to, std::int64_t count, Stream stream);
// sum[i] += values[i]
void accumulate(float* sum, const float* values, std::int64_t count, Stream stream);

// Each element becomes zero with probability threshold / 2^16, else is multiplied by `kept`
// (trainer/backends/dropout.h); the same call on the gradient gives the input's gradient.
struct DropoutCall {
  std::int64_t images = 0, positions = 0, channels = 0;  // channels: padded
  std::int64_t groups = 0;                               // of eight channels
  std::int64_t first = 0;                                // images of the whole batch before these
  const std::uint64_t* key = nullptr;
  std::int32_t threshold = 0;
  float kept = 1;
};
void dropout(Type type, const DropoutCall& call, const void* x, void* y, Stream stream);

// ChannelCopy copies a range of channels between tensors with the same rows. If `clears_rest`, the
// channels of `to` after the range become zero, its padding included.
struct ChannelCopy {
  std::int64_t rows = 0, channels = 0;
  std::int64_t from_first = 0, from_width = 0;  // width: padded
  std::int64_t to_first = 0, to_width = 0;
  bool clears_rest = false;
};
void copy_channels(Type type, const ChannelCopy& call, const void* from, void* to, Stream stream);

// FlattenCall converts between N x H x W x C and one vector per image in the order C x H x W.
struct FlattenCall {
  std::int64_t images = 0, positions = 0, channels = 0;  // without padding
};
void flatten(Type type, const FlattenCall& call, const void* x, void* y, Stream stream);
void unflatten(Type type, const FlattenCall& call, const void* g, void* dx, Stream stream);

// Writes the sums of `parts` arrays of `count` floats, which follow each other, added up in their
// order.
void add_up_parts(Type type, const float* from, std::int64_t parts, std::int64_t count, void* to,
                  Stream stream);

// --- sums over the rows of a channel -------------------------------------------------------------

// Returns the scratch bytes of one tensor's sums: floats, and counters, zero before and after.
std::size_t sums_scratch_bytes(std::int64_t channels);

// NormCall is batch norm with its fused add and ReLU, y = relu((x - mean) scale + beta + addend),
// over the first `rows` of the `rows_held` rows in the buffers.
struct NormCall {
  Type type = Type::kFloat;
  std::int64_t rows = 0, rows_held = 0, channels = 0;
  const void* x = nullptr;
  const void* addend = nullptr;  // or null
  void* y = nullptr;
  bool relu = false;
  const float *gamma = nullptr, *beta = nullptr;
  float *running_mean = nullptr, *running_var = nullptr;
  float *mean = nullptr, *scale = nullptr, *inverse = nullptr;  // per channel, by the statistics
  float *mean_g = nullptr, *slope = nullptr;                    // per channel, by norm_sums()
  float *gamma_gradient = nullptr, *beta_gradient = nullptr;
  double* shared = nullptr;  // synchronised: 2 x channels + 1 sums over the ranks; else null
  void* scratch = nullptr;
};
// Computes the batch's statistics and moves the running ones. If synchronised, it writes this
// rank's sums to `shared`, and norm_statistics_from_shared() does the rest after the sum over the
// ranks.
void norm_statistics(const NormCall& call, Stream stream);
void norm_statistics_from_shared(const NormCall& call, Stream stream);
// Uses the running statistics, instead of the two calls above.
void norm_statistics_from_running(const NormCall& call, Stream stream);
void norm_forward(const NormCall& call, Stream stream);
// Masks the output's gradient, g or g + `other`, by ReLU, and writes it to `masked` if that is not
// null. Computes the parameters' gradients, mean_g and slope; if synchronised, `shared` instead of
// the last two, which norm_sums_from_shared() computes after the sum over the ranks.
void norm_sums(const NormCall& call, const void* g, const void* other, void* masked, Stream stream);
void norm_sums_from_shared(const NormCall& call, Stream stream);
// Computes dx from the output's gradient; `is_masked`: g is the `masked` of norm_sums().
void norm_backward(const NormCall& call, const void* g, bool is_masked, void* dx, Stream stream);

struct LayerNormCall {
  Type type = Type::kFloat;
  std::int64_t rows = 0, channels = 0, width = 0;  // width: padded channels
  const void* x = nullptr;
  void* y = nullptr;
  const float *gamma = nullptr, *beta = nullptr;
  float *mean = nullptr, *inverse = nullptr;  // per row
  float *gamma_gradient = nullptr, *beta_gradient = nullptr;
  void* scratch = nullptr;
};
void layer_norm(const LayerNormCall& call, Stream stream);
void layer_norm_sums(const LayerNormCall& call, const void* g, Stream stream);
void layer_norm_backward(const LayerNormCall& call, const void* g, void* dx, Stream stream);

void add_bias(Type type, const float* bias, void* y, std::int64_t rows, std::int64_t channels,
              Stream stream);
void bias_gradient(Type type, const void* g, float* gradient, std::int64_t rows,
                   std::int64_t channels, void* scratch, Stream stream);

// --- attention -----------------------------------------------------------------------------------

// AttentionCall is attention (trainer/backends/attention.h) of images x positions x channels.
struct AttentionCall {
  Type type = Type::kFloat;
  std::int64_t images = 0, positions = 1, heads = 1, key_heads = 1, width = 1;
  std::int64_t in_width = 0, out_width = 0;  // channels of the input, of the output: padded
  bool causal = false;
  float scale = 1;
  const void* x = nullptr;
  // Three per image, head and position: the largest score, 1 / the sum of the exponentials, and,
  // written backward, the mean of the weights' gradients.
  float* statistics = nullptr;
};
// Leave the padding of y and dx as it is.
void attention_forward(const AttentionCall& call, void* y, Stream stream);
void attention_backward(const AttentionCall& call, const void* y, const void* g, void* dx,
                        Stream stream);
// Copies what an attention reads, with queries and keys turned by their angles, or turned back.
void turn(const AttentionCall& call, const float* table, bool back, const void* from, void* to,
          Stream stream);

// --- windows -------------------------------------------------------------------------------------

struct WindowCall {
  std::int64_t images = 0, channels = 0;
  std::int64_t height = 0, width = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_height = 0, kernel = 0, stride = 0, above = 0, beside = 0;
};
// `best`: for each output the tap of its largest input; -1 if `relu` and no input is above 0.
void max_pool(Type type, const WindowCall& call, bool relu, const void* x, void* y,
              std::int16_t* best, Stream stream);
void max_pool_backward(Type type, const WindowCall& call, const void* g, const std::int16_t* best,
                       void* dx, Stream stream);
void avg_pool(Type type, const WindowCall& call, const void* x, void* y, Stream stream);
void avg_pool_backward(Type type, const WindowCall& call, const void* g, void* dx, Stream stream);

struct PlaneCall {
  std::int64_t images = 0, positions = 0, channels = 0;
};
// y[image, channel] = factor times the sum over the positions of x, or of x other
void sum_planes(Type type, const PlaneCall& call, float factor, const void* x, const void* other,
                void* y, Stream stream);
// y = factor s[image, channel], or factor x s[image, channel]
void broadcast_planes(Type type, const PlaneCall& call, float factor, const void* s, const void* x,
                      void* y, Stream stream);

// --- loss ----------------------------------------------------------------------------------------

struct LossCall {
  LossKind kind = LossKind::kCrossEntropy;
  std::int64_t images = 0;              // of this run
  std::int64_t images_held = 0;         // for which the buffers have room
  std::int64_t outputs = 0, width = 0;  // width: padded
  double batch = 1;                     // images that the mean is over
  double smoothing = 0;
  const float* logits = nullptr;  // images_held x width
  const std::int32_t* labels = nullptr;
  const float* targets = nullptr;     // images_held x outputs
  const MixedLabel* mixes = nullptr;  // or null
  void* gradient = nullptr;  // images_held x width of `type`, or null; zeros after `images`
  Type type = Type::kFloat;
  double* losses = nullptr;  // scratch: one per image
  std::int32_t* rights = nullptr;
  BatchResult* total = nullptr;    // of the step or the evaluation, on the device
  bool adds = false;               // adds to `total` instead of replacing it
  BatchResult* results = nullptr;  // pinned memory of the host, to which `total` is copied:
  const StepRow* now = nullptr;    // to results[now->result]; null: to results[0]
};
void loss(const LossCall& call, Stream stream);

// --- batches -------------------------------------------------------------------------------------

// BatchCall makes a batch of images of a data set, as Batches::fill does, to the bit in floats.
struct BatchCall {
  Type type = Type::kFloat;
  std::int64_t images = 0, images_held = 0;  // those from `images` to `images_held` become zero
  std::int64_t channels = 0, height = 0, width = 0;
  const void* pixels = nullptr;  // N x C x H x W, bytes or floats
  bool has_bytes = true;
  const float *scales = nullptr, *shifts = nullptr;  // per channel
  const EpochImage* order = nullptr;                 // null: the images from *first on, unchanged
  const std::int64_t* first = nullptr;               // evaluation: the first image of the run
  const StepRow* now = nullptr;
  std::int64_t shard_first = 0;  // in the batch
  std::int64_t cutout = 0;
  bool mixes_images = false;
  void* out = nullptr;  // images_held x H x W x padded channels
  // The labels and targets of the whole data set, and of the batch.
  const std::int32_t* all_labels = nullptr;
  const float* all_targets = nullptr;
  std::int64_t outputs = 0;
  std::int32_t* labels = nullptr;
  float* targets = nullptr;
  MixedLabel* mixes = nullptr;
};
void make_batch(const BatchCall& call, Stream stream);
// Converts normalised images from the host's layout, N x C x H x W floats.
void import_images(Type type, const float* from, std::int64_t images, std::int64_t channels,
                   std::int64_t positions, void* to, Stream stream);
// *now = rows[(*next)++]; copies the step's keys to `now_keys`.
void next_step(const StepRow* rows, const std::uint64_t* keys, std::int64_t keys_per_step,
               std::int64_t* next, StepRow* now, std::uint64_t* now_keys, Stream stream);
// *first += images; between the runs of an evaluation.
void next_images(std::int64_t* first, std::int64_t images, Stream stream);

// --- optimiser: flat runs of floats --------------------------------------------------------------

// UpdateCall is one step of any optimiser but lars.
struct UpdateCall {
  OptimizerKind optimizer = OptimizerKind::kSgd;
  OptimizerRule<float> rule = {};        // but for what `now` has
  std::int64_t decaying = 0, count = 0;  // floats; the first `decaying` have weight decay
  float *weights = nullptr, *first = nullptr, *second = nullptr;
  const float* gradients = nullptr;
  void* narrow = nullptr;  // bfloat16 copy of the decaying weights, or null
  const program::UpdateNumbers* now = nullptr;
};
void update(const UpdateCall& call, Stream stream);

// Chunk is a part of a tensor, summed by one block; the chunks of a tensor follow one another.
struct Chunk {
  std::int64_t first = 0, count = 0;
};
// sums[i]: the sum of squares of chunk i, in a fixed order.
void sums_of_squares(const float* values, const Chunk* chunks, int count, double* sums,
                     Stream stream);
// factor = min(1, most / (sqrt(sum of all sums) + 1e-6))
void clip_factor(const double* sums, int count, double most, float* factor, Stream stream);

struct LarsTensor {
  std::int64_t first = 0, count = 0;
  int first_chunk = 0, end_chunk = 0;
  bool decays = false;
};
struct LarsCall {
  double decay = 0, trust = 0;
  float momentum = 0;
  float *weights = nullptr, *velocity = nullptr;
  const float* gradients = nullptr;
  void* narrow = nullptr;
  std::int64_t decaying = 0;
  const LarsTensor* tensors = nullptr;
  int count = 0;
  const double *weight_sums = nullptr, *gradient_sums = nullptr;  // per chunk: the sum of squares
  const program::UpdateNumbers* now = nullptr;
};
void update_lars(const LarsCall& call, Stream stream);
void move_average(const float* weights, float* average, std::int64_t count,
                  const program::UpdateNumbers* now, Stream stream);
void swap(float* a, float* b, std::int64_t count, Stream stream);
// Zeroes the gradients of weights between groups, where a grouped convolution is computed as one
// over all channels.
void keep_groups(float* gradient, std::int64_t outputs, std::int64_t window, std::int64_t inputs,
                 std::int64_t group_outputs, std::int64_t group_inputs, Stream stream);

// Copies `bytes`, a multiple of 16: for measuring the bandwidth of memory.
void copy(const void* from, void* to, std::int64_t bytes, Stream stream);

}  // namespace detol::inline trainer::cuda

#pragma once

// Kernels: what no library computes for us, as calls that append work to a stream and return at
// once. Private to this folder.
//
// Tensors are N x H x W x C in floats or bfloat16, their channels padded with zeros to a multiple
// of kLanes; arithmetic is in single precision, sums over many values are combined in double and
// in a fixed order, so that a run repeats to the bit. "Rows" are the positions of all images,
// N x H x W. Memory is the device's, unless said.

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "encodings/study/optimizers.h"
#include "trainer/backends/backend.h"

namespace detol::inline trainer::cuda {

using Stream = cudaStream_t;

inline constexpr std::int64_t kLanes = 8;  // channels in a register: 16 bytes of bfloat16
constexpr std::int64_t padded(std::int64_t channels) {
  return (channels + kLanes - 1) / kLanes * kLanes;
}

enum class Type { kFloat, kBfloat16 };
constexpr std::size_t size_of(Type type) {
  return type == Type::kFloat ? sizeof(float) : 2;
}

// The numbers of a step that change from one to the next; the kernels of a graph read them here.
struct StepRow {
  float lr = 0;
  float unbiased1 = 1, unbiased2 = 1;  // adamw: 1 - beta^t
  float kept = 0;                      // share of itself that the average keeps
  std::int64_t first_image = 0;        // of EpochImages: the batch's
  std::int64_t result = 0;             // where this step's result goes
};

// --- element by element: count is a multiple of kLanes -------------------------------------------

enum class Slope { kRelu, kSilu, kSigmoid };

void add(Type type, const void* a, const void* b, void* sum, std::int64_t count, Stream stream);
// dx = g where value is above zero (kRelu: of the output), or g times the slope at the input.
void activate(Type type, Slope kind, const void* x, void* y, std::int64_t count, Stream stream);
void activate_backward(Type type, Slope kind, const void* value, const void* g, void* dx,
                       std::int64_t count, Stream stream);
// Zeros in the channels behind the last, of all rows.
void clear_padding(Type type, void* values, std::int64_t rows, std::int64_t channels,
                   Stream stream);
// values[i] *= *factor
void multiply_by(float* values, const float* factor, std::int64_t count, Stream stream);
// to[i] = value of from[i] in the other type; any count
void to_floats(Type type, const void* from, float* to, std::int64_t count, Stream stream);
void from_floats(Type type, const float* from, void* to, std::int64_t count, Stream stream);
// sum[i] += values[i]
void accumulate(float* sum, const float* values, std::int64_t count, Stream stream);

// Zero with probability threshold / 2^16, else times `kept` (trainer/backends/dropout.h); the same
// call with the gradient gives the input's gradient. `key` is in memory of the device.
struct DropoutCall {
  std::int64_t images = 0, positions = 0, channels = 0;  // padded
  std::int64_t groups = 0;                               // of eight true channels
  std::int64_t first = 0;                                // images of the whole batch before these
  const std::uint64_t* key = nullptr;
  std::int32_t threshold = 0;
  float kept = 1;
};
void dropout(Type type, const DropoutCall& call, const void* x, void* y, Stream stream);

// ChannelCopy is a range of channels, copied between tensors of the same rows; what is behind the
// range's end in `to`, up to its padded end, becomes zero if it is the last of the tensor.
struct ChannelCopy {
  std::int64_t rows = 0, channels = 0;
  std::int64_t from_first = 0, from_width = 0;  // padded
  std::int64_t to_first = 0, to_width = 0;
  bool clears_rest = false;  // of each row of `to`
};
void copy_channels(Type type, const ChannelCopy& call, const void* from, void* to, Stream stream);

// Between N x H x W x C and one vector per image in the order C x H x W.
struct FlattenCall {
  std::int64_t images = 0, positions = 0, channels = 0;  // true channels
};
void flatten(Type type, const FlattenCall& call, const void* x, void* y, Stream stream);
void unflatten(Type type, const FlattenCall& call, const void* g, void* dx, Stream stream);

// --- sums over the rows of a channel -------------------------------------------------------------

// Scratch for the sums of one tensor: floats, and counters that are zero before and after.
std::size_t sums_scratch_bytes(std::int64_t channels);

// Batch norm and its tail, y = relu((x - mean) scale + beta + addend), over `rows` of rows_held.
struct NormCall {
  Type type = Type::kFloat;
  std::int64_t rows = 0, rows_held = 0, channels = 0;
  const void* x = nullptr;
  const void* addend = nullptr;  // or none
  void* y = nullptr;
  bool relu = false;
  const float *gamma = nullptr, *beta = nullptr;
  float *running_mean = nullptr, *running_var = nullptr;
  float *mean = nullptr, *scale = nullptr, *inverse = nullptr;  // what forward leaves: per channel,
  float *mean_g = nullptr, *slope = nullptr;                    // and what sums leave
  float *gamma_gradient = nullptr, *beta_gradient = nullptr;
  double* shared = nullptr;  // synchronised: 2 x channels + 1 sums over the ranks; else null
  void* scratch = nullptr;
};
// Statistics of the batch; moves the running ones. Synchronised, it leaves this rank's sums in
// `shared`, and settle() does the rest after they were added up over the ranks.
void norm_statistics(const NormCall& call, Stream stream);
void norm_settle(const NormCall& call, Stream stream);
void norm_recall(const NormCall& call, Stream stream);  // instead of both: the running statistics
void norm_forward(const NormCall& call, Stream stream);
// The gradient g of the output, or the sum of g and `other`, where ReLU let it through; `masked`
// receives it if not null. Leaves the parameters' gradients, mean_g and slope; synchronised,
// `shared`, and settle_sums() the rest.
void norm_sums(const NormCall& call, const void* g, const void* other, void* masked, Stream stream);
void norm_settle_sums(const NormCall& call, Stream stream);
// dx from the gradient; `is_masked`: g is what norm_sums left in `masked`.
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

// --- windows -------------------------------------------------------------------------------------

struct WindowCall {
  std::int64_t images = 0, channels = 0;
  std::int64_t height = 0, width = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_height = 0, kernel = 0, stride = 0, above = 0, beside = 0;
};
// `best`: per output the tap of its largest input, -1 if that is the floor (relu: 0).
void max_pool(Type type, const WindowCall& call, bool relu, const void* x, void* y,
              std::int16_t* best, Stream stream);
void max_pool_backward(Type type, const WindowCall& call, const void* g, const std::int16_t* best,
                       void* dx, Stream stream);
void avg_pool(Type type, const WindowCall& call, const void* x, void* y, Stream stream);
void avg_pool_backward(Type type, const WindowCall& call, const void* g, void* dx, Stream stream);

// Per image and channel: factor times the sum over the positions of x, or of x other.
struct PlaneCall {
  std::int64_t images = 0, positions = 0, channels = 0;
};
void sum_planes(Type type, const PlaneCall& call, float factor, const void* x, const void* other,
                void* y, Stream stream);
// y = factor s[image, channel], or factor x s[image, channel]
void broadcast_planes(Type type, const PlaneCall& call, float factor, const void* s, const void* x,
                      void* y, Stream stream);

// --- loss ----------------------------------------------------------------------------------------

enum class LossKind { kCrossEntropy, kBinaryCrossEntropy, kMse, kMae, kHuber };

struct LossCall {
  LossKind kind = LossKind::kCrossEntropy;
  std::int64_t images = 0, held = 0;    // rows of the part, and that the buffers hold
  std::int64_t outputs = 0, width = 0;  // width: padded
  double batch = 1;                     // images that the mean is over
  double smoothing = 0;
  const float* logits = nullptr;  // held x width
  const std::int32_t* labels = nullptr;
  const float* targets = nullptr;     // held x outputs
  const MixedLabel* mixes = nullptr;  // or none
  void* gradient = nullptr;           // held x width of `type`, or none; zeros behind the part
  Type type = Type::kFloat;
  double* losses = nullptr;  // scratch: one per image
  std::int32_t* rights = nullptr;
  BatchResult* total = nullptr;    // of the step or the evaluation: in memory of the device,
  bool adds = false;               // where a later part adds to what is there,
  BatchResult* results = nullptr;  // and written to memory of the host that the device reaches,
  const StepRow* now = nullptr;    // at now->result; null: at 0
};
void loss(const LossCall& call, Stream stream);

// --- batches -------------------------------------------------------------------------------------

// Images of a data set, made into a batch: what Batches::fill does, to the bit in floats.
struct BatchCall {
  Type type = Type::kFloat;
  std::int64_t images = 0, held = 0;  // rows behind the part become zero
  std::int64_t channels = 0, height = 0, width = 0;
  const void* pixels = nullptr;  // N x C x H x W, bytes or floats
  bool has_bytes = true;
  const float *scales = nullptr, *shifts = nullptr;  // per channel
  const EpochImage* order = nullptr;    // null: the images from `first` on, as they are
  const std::int64_t* first = nullptr;  // evaluation: where it begins
  const StepRow* now = nullptr;
  std::int64_t shard_first = 0;  // of the batch
  std::int64_t cutout = 0;
  bool mixes_images = false;
  void* out = nullptr;  // held x H x W x padded channels
  // The labels and targets of the whole data set, and of the batch.
  const std::int32_t* all_labels = nullptr;
  const float* all_targets = nullptr;
  std::int64_t outputs = 0;
  std::int32_t* labels = nullptr;
  float* targets = nullptr;
  MixedLabel* mixes = nullptr;
};
void make_batch(const BatchCall& call, Stream stream);
// Normalised images of the host's layout, N x C x H x W floats.
void import_images(Type type, const float* from, std::int64_t images, std::int64_t channels,
                   std::int64_t positions, void* to, Stream stream);
// *now = rows[(*next)++], and its keys likewise.
void next_step(const StepRow* rows, const std::uint64_t* keys, std::int64_t keys_per_step,
               std::int64_t* next, StepRow* now, std::uint64_t* now_keys, Stream stream);
// *first += images, of an evaluation.
void next_images(std::int64_t* first, std::int64_t images, Stream stream);

// --- optimiser: flat runs of floats --------------------------------------------------------------

// One step of any optimiser but lars.
struct UpdateCall {
  OptimizerKind optimizer = OptimizerKind::kSgd;
  bool nesterov = false;
  float momentum = 0, beta2 = 0, epsilon = 0, decay = 0;
  std::int64_t decaying = 0, count = 0;  // the first tensors decay
  float *weights = nullptr, *first = nullptr, *second = nullptr;
  const float* gradients = nullptr;
  void* narrow = nullptr;  // bfloat16 copy of the decaying weights, or none
  const StepRow* now = nullptr;
};
void update(const UpdateCall& call, Stream stream);

// A chunk of a tensor, summed by one block; the chunks of a tensor follow one another.
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
  const double *weight_sums = nullptr, *gradient_sums = nullptr;  // per chunk, of squares
  const StepRow* now = nullptr;
};
void update_lars(const LarsCall& call, Stream stream);
void move_average(const float* weights, float* average, std::int64_t count, const StepRow* now,
                  Stream stream);
void swap(float* a, float* b, std::int64_t count, Stream stream);
// Zeros where a weight of a convolution spread over all channels is none of its group's.
void keep_groups(float* gradient, std::int64_t outputs, std::int64_t window, std::int64_t inputs,
                 std::int64_t group_outputs, std::int64_t group_inputs, Stream stream);

// Bytes per second of a copy between two large buffers are measured with it.
void copy(const void* from, void* to, std::int64_t bytes, Stream stream);

}  // namespace detol::inline trainer::cuda

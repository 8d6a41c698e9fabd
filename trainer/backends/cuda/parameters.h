#pragma once

// Parameters: a candidate's weights, gradients and moments in flat buffers of floats, so that the
// optimiser is one pass. Weights of convolutions and dense layers have the layout of conv_shape.h,
// padded with zeros, which stay zeros under every optimiser; where layers compute in bfloat16,
// these weights have a narrow (bfloat16) copy, and narrow gradients. Private to this folder.

#include <deque>
#include <functional>
#include <string_view>
#include <vector>

#include "encodings/study/recipe.h"
#include "trainer/backends/arena.h"
#include "trainer/backends/backend.h"
#include "trainer/backends/cuda/kernels.h"

namespace detol::inline trainer::cuda {

// WeightLayout maps element (output, input, tap) of a tensor to its index in the flat buffer's
// layout; a vector has one output and one tap.
struct WeightLayout {
  std::int64_t outputs = 1, taps = 1, inputs = 1;      // without padding
  std::int64_t padded_outputs = 1, padded_inputs = 1;  // with padding
  // The outputs of a group, if a grouped convolution is computed as one over all channels, where
  // the weights for other groups' inputs are zeros; else 0.
  std::int64_t group_outputs = 0;

  std::int64_t floats() const { return padded_outputs * taps * padded_inputs; }
  std::int64_t at(std::int64_t output, std::int64_t input, std::int64_t tap) const {
    const std::int64_t first = group_outputs == 0 ? 0 : output / group_outputs * inputs;
    return (output * taps + tap) * padded_inputs + first + input;
  }
};

struct Parameter {
  NetworkParameter origin;
  WeightLayout layout;
  std::size_t floats = 0, offset = 0;  // in the flat buffers
  // Set by bind(): the layer's weight and gradient, narrow where it computes in bfloat16; the
  // weight in floats.
  void *weight = nullptr, *gradient = nullptr;
  float* master = nullptr;
};

class Parameters {
 public:
  Parameters(const Network& network, const Recipe& recipe, Type type);

  // Return the tensor `name` of a node, and set its layout; null if the node has none. The
  // address is stable.
  Parameter* claim(NodeId node, std::string_view name, const WeightLayout& layout);
  Parameter* claim(NodeId node, std::string_view name);  // one value per channel

  // Makes the flat buffers. REQUIRES: every tensor was claimed.
  void reserve(Arena& arena, bool accumulates);
  // Zeroes everything. REQUIRES: the arena is bound.
  void bind();

  // Appends to the stream: converts the gradients of a micro-batch to floats, and adds them to
  // those of earlier micro-batches.
  void finish_micro_batch(bool is_first) const;
  // Returns the gradients of the batch, added up over its micro-batches.
  float* gradients() const;
  std::size_t trainable() const { return trainable_; }  // floats
  // Appends the optimiser's step.
  void update(const StepRow* now) const;
  // Appends a swap of the weights and their average; nothing without ema.
  void swap_average() const;

  // Run is a contiguous range of floats: the running statistics, or their averages.
  struct Run {
    float* data = nullptr;
    std::size_t floats = 0;
  };
  std::vector<Run> statistics() const;

  // These wait for the device.
  TrainingState state() const;
  void set_state(const TrainingState& state);
  // Convert trainable tensors between the layout of gradients() and the plain one.
  Weights plain_of(std::span<const float> flat) const;
  void flatten(const Weights& tensors, std::span<float> flat) const;

 private:
  std::size_t bytes() const { return floats_ * sizeof(float); }
  void assign_offsets();
  void make_chunks();
  void clip() const;
  void update_by_lars(const StepRow* now) const;
  std::vector<float> read(const Buffer* flat) const;
  void write(const Buffer* flat, std::span<const float> values) const;
  void refresh_narrow() const;

  const Recipe recipe_;
  const Type type_;
  std::deque<Parameter> parameters_;  // in the order of Network::parameters()
  std::size_t decaying_ = 0;          // floats of the tensors that decay, which come first
  std::size_t trainable_ = 0;         // floats of these and the other trainable tensors
  std::size_t floats_ = 0;            // all floats; running statistics come last
  Buffer *weights_ = nullptr, *gradients_ = nullptr, *sum_ = nullptr, *average_ = nullptr;
  Buffer *narrow_ = nullptr, *narrow_gradients_ = nullptr;  // of the tensors that decay
  std::vector<Buffer*> moments_;
  // Clipping and lars compute norms of the trainable tensors from the sums over these chunks.
  std::vector<Chunk> chunks_;
  std::vector<LarsTensor> tensors_;
  Buffer *chunks_on_device_ = nullptr, *tensors_on_device_ = nullptr;
  Buffer *weight_sums_ = nullptr, *gradient_sums_ = nullptr, *factor_ = nullptr;
};

}  // namespace detol::inline trainer::cuda

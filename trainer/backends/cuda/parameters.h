#pragma once

// Parameters: a candidate's weights, gradients and moments in flat buffers of floats, so that the
// optimiser is one pass. Weights of convolutions and dense layers lie in the layout of
// conv_plan.h, padded with zeros, which every rule of the optimiser keeps; where layers compute in
// bfloat16 there is a narrow copy of them, and their gradients are narrow. Private to this folder.

#include <deque>
#include <functional>
#include <string_view>
#include <vector>

#include "encodings/study/recipe.h"
#include "trainer/backends/arena.h"
#include "trainer/backends/backend.h"
#include "trainer/backends/cuda/kernels.h"

namespace detol::inline trainer::cuda {

// Native says where element (output, input, tap) of a tensor lies: a vector has one output and one
// tap.
struct Native {
  std::int64_t outputs = 1, taps = 1, inputs = 1;  // as they are
  std::int64_t held_outputs = 1, held_inputs = 1;  // with padding
  // The outputs of a group, if a grouped convolution is computed as one over all channels, where
  // the weights for other groups' inputs are zeros; else 0.
  std::int64_t group_outputs = 0;

  std::int64_t floats() const { return held_outputs * taps * held_inputs; }
  std::int64_t at(std::int64_t output, std::int64_t input, std::int64_t tap) const {
    const std::int64_t first = group_outputs == 0 ? 0 : output / group_outputs * inputs;
    return (output * taps + tap) * held_inputs + first + input;
  }
};

struct Parameter {
  NetworkParameter origin;
  Native native;
  std::size_t floats = 0, offset = 0;  // in the flat buffers
  // Since bind(): what layers read and write, narrow where the layer computes so, and the master.
  void *weight = nullptr, *gradient = nullptr;
  float* master = nullptr;
};

class Parameters {
 public:
  Parameters(const Network& network, const Recipe& recipe, Type type);

  // The tensor `name` of a node; null if it has none. The address is stable.
  Parameter* claim(NodeId node, std::string_view name, const Native& native);
  Parameter* claim(NodeId node, std::string_view name);  // one value per channel

  // Makes the flat buffers. REQUIRES: every tensor was claimed.
  void reserve(Arena& arena, bool accumulates);
  // Zeroes everything. REQUIRES: the arena is bound.
  void bind();

  // Appends to the stream: the gradients that a micro-batch's backward steps left become floats,
  // and are added to those of earlier micro-batches.
  void finish_micro_batch(bool is_first) const;
  // All gradients of this batch.
  float* gradients() const;
  std::size_t trainable() const { return trainable_; }  // floats
  // Appends the optimiser's step.
  void update(const StepRow* now) const;
  // Appends: weights and their average change places; nothing without ema.
  void swap_average() const;

  // The running statistics, and their averages: floats behind each other.
  struct Run {
    float* data = nullptr;
    std::size_t floats = 0;
  };
  std::vector<Run> statistics() const;

  // These wait for the device.
  TrainingState state() const;
  void set_state(const TrainingState& state);
  // Between the layout of gradients() and the plain one.
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
  std::size_t decaying_ = 0;          // floats: first the tensors that decay,
  std::size_t trainable_ = 0;         // then the other trainable ones,
  std::size_t floats_ = 0;            // then running statistics
  Buffer *weights_ = nullptr, *gradients_ = nullptr, *sum_ = nullptr, *average_ = nullptr;
  Buffer *narrow_ = nullptr, *narrow_gradients_ = nullptr;  // of the decaying ones
  std::vector<Buffer*> moments_;
  // Norms use these chunks of the trainable tensors, and the sums over them.
  std::vector<Chunk> chunks_;
  std::vector<LarsTensor> tensors_;
  Buffer *chunks_on_device_ = nullptr, *tensors_on_device_ = nullptr;
  Buffer *weight_sums_ = nullptr, *gradient_sums_ = nullptr, *factor_ = nullptr;
};

}  // namespace detol::inline trainer::cuda

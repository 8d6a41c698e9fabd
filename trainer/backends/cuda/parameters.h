#pragma once

// Parameters: the flat buffers of a candidate in the memory of the device. Weights of convolutions
// and dense layers have the layout of conv_shape.h; where layers compute in bfloat16, these weights
// have a narrow (bfloat16) copy, and narrow gradients. Updates append to the stream. Private to
// this folder.

#include <string_view>
#include <vector>

#include "trainer/backends/cuda/kernels.h"
#include "trainer/backends/program/flat_parameters.h"

namespace detol::inline trainer::cuda {

using program::Parameter;
using program::UpdateNumbers;

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

class Parameters final : public program::FlatParameters {
 public:
  Parameters(const Network& network, const Recipe& recipe, Type type)
      : FlatParameters(network, recipe), type_(type) {}

  // Return the tensor `name` of a node, and set its layout; null if the node has none.
  Parameter* claim(NodeId node, std::string_view name, const WeightLayout& layout);
  Parameter* claim(NodeId node, std::string_view name);  // one value per channel

 private:
  void reserve_more(Arena& arena) override;
  void bind_more(std::deque<Parameter>& parameters) override;
  void set_to_zero(const Buffer& buffer, std::size_t bytes) const override;
  std::span<const float> read(const Buffer& flat, std::size_t first, std::size_t floats,
                              std::vector<float>& copy) const override;
  void write(const Buffer& flat, std::size_t first, std::size_t floats,
             const std::function<void(std::span<float>)>& fill) const override;
  void finish_gradients() const override;
  void add(float* sum, const float* values, std::size_t floats) const override;
  void clip() const override;
  void apply_rule(const UpdateNumbers* now) const override;
  void move_average(const UpdateNumbers* now) const override;
  void swap(float* a, float* b, std::size_t floats) const override;
  void weights_changed() const override;

  void make_chunks();
  void update_by_lars(const UpdateNumbers* now) const;
  void* narrow() const { return narrow_ != nullptr ? narrow_->data : nullptr; }

  // Grouped is a weight whose gradient must stay zero between groups.
  struct Grouped {
    const Parameter* parameter;
    WeightLayout layout;
  };

  const Type type_;
  std::vector<Grouped> grouped_;
  Buffer *narrow_ = nullptr, *narrow_gradients_ = nullptr;  // of the tensors that decay
  // Clipping and lars compute norms of the trainable tensors from the sums over these chunks.
  std::vector<Chunk> chunks_;
  std::vector<LarsTensor> tensors_;
  Buffer *chunks_on_device_ = nullptr, *tensors_on_device_ = nullptr;
  Buffer *weight_sums_ = nullptr, *gradient_sums_ = nullptr, *factor_ = nullptr;
};

}  // namespace detol::inline trainer::cuda

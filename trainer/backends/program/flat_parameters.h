#pragma once

// FlatParameters: a candidate's weights, gradients and moments, each in one flat buffer, so that
// the optimiser is one pass (lars: one per tensor). A flat buffer has three sections: the tensors
// that decay, the other trainable ones, the running statistics. A tensor lies there in the layout
// in which its layer computes, padded with zeros; every rule of the optimiser keeps zeros zero. A
// backend derives from it, and gives what touches memory. Not thread-safe.

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "encodings/network/network.h"
#include "encodings/study/recipe.h"
#include "trainer/backends/arena.h"
#include "trainer/backends/backend.h"
#include "trainer/backends/program/update_numbers.h"
#include "trainer/collectives/compression.h"

namespace detol::inline trainer::program {

// TensorLayout: how a layer stores one of its tensors.
class TensorLayout {
 public:
  virtual ~TensorLayout() = default;
  virtual std::size_t floats() const = 0;  // padding included
  // Copy the elements of a tensor to and from the order of checkpoints; these leave the padding.
  virtual void to_plain(const float* stored, float* plain) const = 0;
  virtual void from_plain(const float* plain, float* stored) const = 0;
};

struct Parameter {
  NetworkParameter origin;
  std::shared_ptr<const TensorLayout> layout = {};
  std::size_t floats = 0, offset = 0;  // in the flat buffers
  std::size_t ready = 0;               // its gradient is written before this step
  Buffer weight = {}, gradient = {};   // as its layer reads and writes them, set by bind()
  float* master = nullptr;             // the weight in the flat buffer
};

// Return a tensor's buffer as an argument of Program::call(); null for null.
inline Buffer* weight_of(Parameter* tensor) {
  return tensor != nullptr ? &tensor->weight : nullptr;
}
inline Buffer* gradient_of(Parameter* tensor) {
  return tensor != nullptr ? &tensor->gradient : nullptr;
}

// NormTensors are those of a norm over the batch.
struct NormTensors {
  Parameter *gamma = nullptr, *beta = nullptr, *running_mean = nullptr, *running_var = nullptr;
};

template <typename Parameters>
NormTensors claim_norm(Parameters& parameters, NodeId node) {
  return {.gamma = parameters.claim(node, "gamma"),
          .beta = parameters.claim(node, "beta"),
          .running_mean = parameters.claim(node, "running_mean"),
          .running_var = parameters.claim(node, "running_var")};
}

// ScheduledBucket is summed over the ranks as soon as its gradients are written.
struct ScheduledBucket {
  GradientBucket bucket;
  std::size_t ready = 0;  // written before this step
};

class FlatParameters {
 public:
  FlatParameters(const Network& network, const Recipe& recipe);
  virtual ~FlatParameters() = default;
  FlatParameters(const FlatParameters&) = delete;
  FlatParameters& operator=(const FlatParameters&) = delete;

  // Returns the tensor `name` of a node, to be stored in `layout`; null if the node has no such
  // tensor. The address is stable.
  Parameter* claim(NodeId node, std::string_view name, std::shared_ptr<const TensorLayout> layout);
  // Returns the shape of the tensor `name` of a node; null likewise.
  const ParameterSpec* spec_of(NodeId node, std::string_view name) const;
  // Returns the tensors that were claimed since the last call.
  std::vector<Parameter*> newly_claimed() { return std::exchange(claimed_, {}); }

  // Makes the flat buffers. REQUIRES: every tensor was claimed.
  void reserve(Arena& arena, bool accumulates);
  // Sets the addresses and zeroes all buffers. REQUIRES: the arena has its memory.
  void bind();

  // Ends the backward pass of a micro-batch: adds its gradients to those of earlier ones of the
  // step, if it has several.
  void finish_micro_batch(bool is_first);
  // Makes the optimiser's step (optimizer.h) with gradients(): clips them, applies the rule, moves
  // the average. A backend may read `now` later, when the step runs on its device.
  void update(const UpdateNumbers* now);
  // Swaps the weights with their average; does nothing without ema.
  void swap_average();

  const Recipe& recipe() const { return recipe_; }
  const std::deque<Parameter>& all() const { return parameters_; }
  std::size_t decaying() const { return decaying_; }    // floats of the first section
  std::size_t trainable() const { return trainable_; }  // floats of the first two
  std::size_t floats() const { return floats_; }
  float* weights() const { return weights_->as<float>(); }
  float* gradients() const { return gradients_of_the_step()->as<float>(); }
  float* moment(std::size_t i) const {
    return i < moments_.size() ? moments_[i]->as<float>() : nullptr;
  }
  float* average() const { return average_ != nullptr ? average_->as<float>() : nullptr; }

  // Returns the buckets of gradients(), in the order in which they are written. REQUIRES: reserved.
  std::vector<ScheduledBucket> buckets() const;

  // These may wait for a device. Statistics: the running ones, then their averages if there are
  // any, of which set_statistics() takes as many.
  TrainingState state() const;
  void set_state(const TrainingState& state);
  std::vector<float> statistics() const;
  void set_statistics(std::span<const float> values);

  // Convert trainable tensors between the layout of gradients() and the plain one.
  Weights plain_of(std::span<const float> flat) const;
  void flatten(const Weights& tensors, std::span<float> flat) const;

 protected:
  std::size_t bytes() const { return floats_ * sizeof(float); }  // of one flat buffer
  // The gradients of the last backward pass, which are those of the step unless there are several.
  float* last_gradients() const { return gradients_->as<float>(); }

 private:
  virtual void reserve_more(Arena& /*arena*/) {}
  virtual void bind_more(std::deque<Parameter>& /*parameters*/) {}
  virtual void set_to_zero(const Buffer& buffer, std::size_t bytes) const = 0;
  // Returns floats of a flat buffer; `copy` is for those that the host cannot read in place.
  virtual std::span<const float> read(const Buffer& flat, std::size_t first, std::size_t floats,
                                      std::vector<float>& copy) const = 0;
  // Calls `fill` with floats of a flat buffer, and stores what it writes; where it writes nothing,
  // there are zeros then, or what was there before.
  virtual void write(const Buffer& flat, std::size_t first, std::size_t floats,
                     const std::function<void(std::span<float>)>& fill) const = 0;
  // Converts the gradients of a backward pass to those of the flat buffer, where they differ.
  virtual void finish_gradients() const {}
  virtual void add(float* sum, const float* values, std::size_t floats) const = 0;
  virtual void clip() const = 0;  // as recipe().clip_norm, which is above 0
  virtual void apply_rule(const UpdateNumbers* now) const = 0;
  virtual void move_average(const UpdateNumbers* now) const = 0;
  virtual void swap(float* a, float* b, std::size_t floats) const = 0;
  virtual void weights_changed() const {}  // other than by apply_rule()

  const Buffer* gradients_of_the_step() const { return sum_ != nullptr ? sum_ : gradients_; }
  void assign_offsets();

  const Recipe recipe_;
  std::deque<Parameter> parameters_;  // in the order of Network::parameters()
  std::vector<Parameter*> claimed_;
  std::size_t decaying_ = 0, trainable_ = 0, floats_ = 0;
  Buffer *weights_ = nullptr, *gradients_ = nullptr;
  Buffer* sum_ = nullptr;  // of gradients over micro-batches; null if there is one
  std::vector<Buffer*> moments_;
  Buffer* average_ = nullptr;  // of weights_; null without ema
};

}  // namespace detol::inline trainer::program

#pragma once

// Parameters: a candidate's weights, gradients and moments, each in one flat buffer, so that the
// optimiser is one pass (lars: one per tensor). A tensor is in the layout its layer computes in,
// channels padded with zeros to whole registers; every rule of the optimiser keeps zeros zero.

#include <deque>
#include <utility>
#include <vector>

#include "encodings/study/recipe.h"
#include "trainer/backends/backend.h"
#include "trainer/backends/cpu/machine.h"
#include "trainer/collectives/compression.h"

namespace detol::inline trainer::onednn {

struct Parameter {
  NetworkParameter origin;
  Desc plain;               // as in checkpoints
  Desc native;              // the layout in which the layer computes
  std::size_t floats = 0;   // of the native layout, padding included
  std::size_t offset = 0;   // in the flat buffers
  std::size_t ready = 0;    // its gradient is written before this step
  Buffer weight, gradient;  // views into the flat buffers, set by bind()
};

// ScheduledBucket is summed over the ranks as soon as its gradients are written.
struct ScheduledBucket {
  GradientBucket bucket;
  std::size_t ready = 0;  // written before this step
};

class Parameters {
 public:
  Parameters(const Network& network, const Recipe& recipe);

  // Returns the tensor `name` of a node, stored in layout `native`: the same extents as `plain`,
  // perhaps padded. Null if the node has no such tensor. The address is stable.
  Parameter* claim(NodeId node, std::string_view name, const Desc& plain, const Desc& native);
  // Claims a tensor of one value per channel.
  Parameter* claim(NodeId node, std::string_view name);

  // Returns the tensors that were claimed since the last call.
  std::vector<Parameter*> newly_claimed() { return std::exchange(claimed_, {}); }

  // Makes the flat buffers. REQUIRES: every tensor was claimed.
  void reserve(Arena& arena, bool accumulates);
  // Sets the addresses and zeroes all buffers. REQUIRES: called after Arena::place().
  void bind();

  // Adds the gradients of the last backward pass to those of earlier micro-batches of this step.
  // REQUIRES: reserved to accumulate.
  void accumulate();
  // Returns all gradients of this batch as one flat array.
  std::span<float> gradients();
  // Returns the buckets of gradients(), in the order in which they are written. REQUIRES: reserved.
  std::vector<ScheduledBucket> buckets() const;
  std::span<float> statistics();  // the running statistics
  // Makes the optimiser's step with gradients(), which then start from zero for the next batch.
  void update(const StepSettings& settings);
  // Zeroes the gradients without an update.
  void forget_gradients();
  // Swaps the weights with their average; does nothing without ema.
  void swap_average();
  std::span<float> averaged_statistics();
  TrainingState state() const;
  void set_state(const TrainingState& state);
  // Convert trainable tensors between the layout of gradients() and the plain one.
  Weights plain_of(std::span<const float> flat) const;
  void flatten(const Weights& tensors, std::span<float> flat) const;

  std::size_t bytes() const { return floats_ * sizeof(float); }  // of one flat buffer

 private:
  // Range is a range of the flat buffers, with the decay of its tensors.
  struct Range {
    std::size_t first = 0, end = 0;
    double decay = 0;
  };

  void assign_offsets();
  void clip();
  void update_range(const StepSettings& settings, Range range);
  void update_by_lars(const StepSettings& settings);

  const Recipe recipe_;
  std::deque<Parameter> parameters_;  // in the order of Network::parameters()
  std::vector<Parameter*> claimed_;
  std::size_t decaying_ = 0;   // floats: first the tensors that decay,
  std::size_t trainable_ = 0;  // then the other trainable ones,
  std::size_t floats_ = 0;     // then running statistics
  Buffer *weights_ = nullptr, *gradients_ = nullptr;
  Buffer* sum_ = nullptr;  // of gradients over micro-batches; null if there is one
  std::vector<Buffer*> moments_;
  Buffer* average_ = nullptr;  // of weights_; null without ema
};

}  // namespace detol::inline trainer::onednn

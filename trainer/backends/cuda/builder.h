#pragma once

// Builder turns a network into two lists of steps over buffers of the device, as the CPU's fast
// backend does (backends/cpu/builder.h): the forward list is written unit by unit, each lowering
// registers a closure that writes its backward steps, and the closures are called in the opposite
// order, so that every consumer of a value has added its term to the value's gradient before that
// is read. Steps are numbered as they are written, which gives every buffer its live range and the
// arena its plan.
//
// A step appends work to the device's stream; a step with `on_host` (a sum over the ranks by MPI)
// runs on the host and waits for the stream itself. Private to this folder.

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/backends/arena.h"
#include "trainer/backends/backend.h"
#include "trainer/backends/cuda/conv_plans.h"
#include "trainer/backends/cuda/device.h"
#include "trainer/backends/cuda/matmul.h"
#include "trainer/backends/cuda/parameters.h"
#include "trainer/backends/cuda/sums.h"
#include "trainer/backends/plan.h"

namespace detol::inline trainer::cuda {

// Value is the output of a node: images x positions x padded channels, and while the backward steps
// are written, the terms of its gradient in the same layout.
struct Value {
  Shape shape;
  bool needs_gradient = true;
  bool is_float = false;  // also if Builder::type() is not: logits
  Buffer* data = nullptr;
  std::vector<Buffer*> gradients;

  std::int64_t positions() const { return shape.height * shape.width; }
  std::int64_t channels() const { return padded(shape.channels); }
};

// StepContext is what may differ between two runs of the same step.
struct StepContext {
  bool training = true;
  Shard shard;  // the images before and in this run; the buffers may hold more than shard.count
};

using Run = std::function<void(const StepContext&)>;

struct Step {
  NodeId node = 0;
  bool on_host = false;
  Run run;
};

// TunableConv is a convolution in one direction that several algorithms can compute.
struct TunableConv {
  AlgorithmCandidates candidates;
  ConvShape shape;
};

class Builder {
 public:
  // Libraries get at most `most_scratch` bytes of scratch memory, which limits their algorithms.
  Builder(const Network& network, const Recipe& recipe, const Placement& placement, RankSums& sums,
          std::size_t most_scratch);

  const Node& node(NodeId id) const { return network_.nodes()[id]; }
  bool is_output(NodeId id) const { return id + 1 == network_.nodes().size(); }
  std::span<const Shard> micro_batches() const { return micro_batches_; }
  // Returns the images for which the buffers have room: those of the largest micro-batch.
  std::int64_t batch() const { return micro_batches_.front().count; }
  std::int64_t largest_batch() const { return largest_batch_; }  // of any rank's run
  const Recipe& recipe() const { return recipe_; }
  Type type() const { return type_; }
  bool tf32() const { return precision_of(recipe_) == PrecisionKind::kTf32; }
  RankSums& sums() const { return sums_; }
  bool syncs_norms() const { return recipe_.sync_batch_norm && sums_.ranks() > 1; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }
  Arena& arena() { return arena_; }

  Value& value(NodeId id) { return *values_[id]; }
  Value& make_value(NodeId id, bool needs_gradient);
  // Returns a value as one vector per image, in the order of its channels, rows and columns.
  Value& flattened(Value& value);
  // Declares that a node's value is another's.
  void set_value(NodeId id, Value& value) { values_[id] = &value; }
  std::int64_t rows(const Value& value) const { return batch() * value.positions(); }
  std::int64_t elements(const Value& value) const { return rows(value) * value.channels(); }
  Buffer* like(const Value& value);  // a buffer for as many elements as `value` has
  Buffer* floats(std::int64_t count) {
    return arena_.make_persistent(static_cast<std::size_t>(count) * sizeof(float));
  }

  // Appends a step that touches these buffers.
  void step(const std::vector<Buffer*>& uses, Run run) { append(uses, false, std::move(run)); }
  void host_step(const std::vector<Buffer*>& uses, Run run) { append(uses, true, std::move(run)); }
  void on_backward(std::function<void()> lower) { backward_.push_back({node_, std::move(lower)}); }
  void begin(NodeId node) { node_ = node; }  // the following steps belong to `node`

  // Return one buffer with the whole gradient of a value, or at most `most` terms of that sum.
  Buffer* gradient(Value& value) { return gradient_terms(value, 1).front(); }
  std::vector<Buffer*> gradient_terms(Value& value, std::size_t most);
  // Add a term: a new buffer, which a step must write before the next term is added, or `term`.
  Buffer* add_gradient(Value& value);
  void pass_gradient(Value& value, Buffer* term);

  // Return the scratch buffer that all libraries share, and that of the sums over rows, which is
  // zeroed once; both have room for at least `bytes`.
  Buffer* scratch(std::size_t bytes) { return grown(scratch_, bytes); }
  Buffer* sums_scratch(std::size_t bytes) { return grown(sums_scratch_, bytes); }
  std::size_t most_scratch() const { return most_scratch_; }

  // Returns the plan of a convolution in one direction: by the study's choice, else by the fixed
  // rule. Errors: kInternal if this cuDNN lacks the chosen algorithm, kInput if none fits in the
  // memory. Throws DeviceError if cuDNN fails.
  Result<const ConvPlan*> plan(const ConvShape& shape);
  // Empty without choices.
  const std::vector<TunableConv>& tunable_convs() const { return tunable_convs_; }

  // Returns the index of a dropout layer; key(index) is its key, drawn anew for each step.
  std::size_t declare_dropout(NodeId node);
  std::span<const NodeId> dropouts() const { return dropouts_; }
  const std::uint64_t* key(std::size_t index) const;
  const StepRow* now() const { return now_->as<StepRow>(); }
  std::uint64_t* keys() const { return keys_->as<std::uint64_t>(); }

  // Writes the backward steps of everything lowered so far.
  void lower_backward();
  std::span<const Step> steps() const { return steps_; }
  std::size_t size() const { return steps_.size(); }

  // Plans and allocates the memory, and zeroes what must start as zeros. Throws std::bad_alloc.
  void place();
  std::size_t bytes() const { return arena_.bytes(); }

 private:
  void append(const std::vector<Buffer*>& uses, bool on_host, Run run);
  Value& new_value(const Shape& shape, bool needs_gradient);
  void make_room(Value& value);
  Buffer* grown(Buffer*& buffer, std::size_t bytes);

  const Network network_;
  const Recipe recipe_;
  const Type type_;
  RankSums& sums_;
  const std::vector<Shard> micro_batches_;
  const std::int64_t largest_batch_;
  const std::size_t most_scratch_;
  const AlgorithmChoices* choices_;
  std::vector<TunableConv> tunable_convs_;
  Arena arena_;
  std::shared_ptr<DeviceMemory> memory_;
  Parameters parameters_;
  std::deque<Value> storage_;
  std::vector<Value*> values_;  // by node
  std::vector<NodeId> dropouts_;
  NodeId node_ = 0;
  std::vector<Step> steps_;
  struct Lower {
    NodeId node = 0;
    std::function<void()> write;
  };
  std::vector<Lower> backward_;
  Buffer *scratch_ = nullptr, *sums_scratch_ = nullptr, *now_ = nullptr, *keys_ = nullptr;
};

}  // namespace detol::inline trainer::cuda

#pragma once

// Builder turns a network into two lists of steps over buffers.
//
// The forward list is written unit by unit. Each lowering leaves a closure that writes its
// backward steps; they are called in the opposite order, so that when a value's gradient is needed,
// every consumer has added its term to it. Steps are numbered as they are written, which gives
// every buffer its live range and the arena its plan.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "trainer/backends/backend.h"
#include "trainer/backends/cpu/machine.h"
#include "trainer/backends/cpu/parameters.h"
#include "trainer/backends/plan.h"

namespace detol::inline trainer::onednn {

enum class Layout {
  kPlain,    // N x C x H x W
  kBlocked,  // N x C/lanes x H x W x lanes
};

// Value is the output of a node: a tensor and, while the backward steps are written, the terms of
// its gradient in the same layout.
struct Value {
  Shape shape;
  Layout layout = Layout::kPlain;
  bool needs_gradient = true;
  Buffer* data = nullptr;
  std::vector<Buffer*> gradients;
};

// StepContext is what may differ between two runs of the same step.
struct StepContext {
  bool training = true;
  StepSettings settings;
  Shard shard;  // the images before and in this run; the buffers may hold more than shard.count
};

using Run = std::function<void(const StepContext&)>;

// Pass is a part of a unit's steps whose algorithm can be chosen separately.
enum class Pass { kAll, kForward, kData, kWeights };

// TunablePass is a unit, or one pass over it, that several algorithms can compute.
struct TunablePass {
  AlgorithmCandidates candidates;
  NodeId node = 0;
  Pass pass = Pass::kAll;
  Shape shape;  // of its first input
  Layout layout = Layout::kPlain;
  bool needs_gradient = true;  // its first input
};

class Builder {
 public:
  Builder(const Network& network, const Recipe& recipe, const Placement& placement);

  const Node& node(NodeId id) const { return network_.nodes()[id]; }
  std::span<const Shard> micro_batches() const { return micro_batches_; }
  std::int64_t batch() const { return micro_batches_.front().count; }  // images of the largest run
  // The largest batch of any rank: decisions based on the batch size must not depend on the rank.
  std::int64_t largest_batch() const { return largest_batch_; }
  Group& group() const { return group_; }
  const Recipe& recipe() const { return recipe_; }
  bool syncs_norms() const { return recipe_.sync_batch_norm && group_.size() > 1; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }
  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }

  // Returns which of these algorithms computes a pass over the convolution `node`: the one in the
  // placement's choices, else the first, which is the fixed rule's. The key names `kind`, backend,
  // instruction set, layer and the images of a run. Errors (kInternal): the recorded choice is not
  // among these.
  Result<std::string> choose_algorithm(NodeId node, std::string_view kind, Pass pass,
                                       std::vector<std::string> algorithms);
  bool has_choices() const { return choices_ != nullptr; }
  // Empty without choices.
  const std::vector<TunablePass>& tunable_passes() const { return tunable_passes_; }

  // Returns the value of a node, converted if its layout is another.
  Value& value(NodeId id, Layout layout);
  // Returns the value of a node in the layout it has.
  Value& value(NodeId id) { return *values_[id]; }
  const Value& value(NodeId id) const { return *values_[id]; }
  // Declares the value that a unit computes.
  Value& make_value(NodeId id, Layout layout, bool needs_gradient);

  // Declares that a node's value is another's.
  void set_value(NodeId id, Value& value) { values_[id] = &value; }
  // Declares that a node's value shares the bytes of `of`, in plain layout and another shape.
  void view_value(NodeId id, Value& of);

  std::size_t floats(const Value& value) const;
  Extent extent(const Value& value) const;             // REQUIRES: blocked
  Desc desc(const Shape& shape, Layout layout) const;  // blocked: channels padded

  // Appends a step that touches these buffers.
  void step(const std::vector<Buffer*>& uses, Run run);
  // Appends a primitive, which touches its arguments.
  void step(std::unique_ptr<Call> call);
  // Registers the function that writes a unit's backward steps. REQUIRES: the unit claimed its
  // tensors.
  void on_backward(std::function<void()> lower) {
    backward_.push_back({node_, std::move(lower), parameters_.newly_claimed()});
  }

  // Sets the node that the next steps belong to, forward and backward.
  void begin(NodeId node) {
    node_ = node;
    pass_ = Pass::kAll;
  }
  // Sets the pass over that node that they belong to.
  void begin(Pass pass) { pass_ = pass; }
  // Returns the node that a step belongs to; the loss belongs to the last node.
  NodeId node_of(std::size_t step) const { return steps_[step].node; }

  // Returns one buffer with the whole gradient of a value.
  Buffer* gradient(Value& value);
  // Returns at most `most` terms whose sum is the gradient.
  std::vector<Buffer*> gradient_terms(Value& value, std::size_t most);
  // Returns a new term of a value's gradient, which a step must write before another term is added.
  Buffer* add_gradient(Value& value);
  // Adds a buffer as a term: already written, or written by a step before another term is added.
  void pass_gradient(Value& value, Buffer* term);

  // Returns the scratch buffer that all primitives share, of at least `bytes`.
  Buffer* scratch(std::size_t bytes);
  Buffer* floats_buffer(std::size_t floats) { return arena_.make(floats * sizeof(float)); }

  // Writes the backward steps of everything lowered so far.
  void lower_backward();
  // Returns the number of steps so far, which is the index of the next.
  std::size_t size() const { return steps_.size(); }

  // Returns the bytes that place() would allocate; allocates none. REQUIRES: called once, instead
  // of place().
  std::size_t plan();
  // Gives every buffer its memory, compiles the primitives, zeroes the parameters. Throws
  // std::bad_alloc.
  void place();
  // Runs the steps of a pass, all of them for kAll.
  void run(Pass pass, const StepContext& context) const;
  // Runs steps [first, end).
  void run(std::size_t first, std::size_t end, const StepContext& context) const;

 private:
  void make_room(Value& value);
  Value& convert(Value& from, Layout layout);
  Value& view(Value& of, const Shape& shape, Layout layout);

  const Network network_;
  const Recipe recipe_;
  Group& group_;
  const std::vector<Shard> micro_batches_;
  const std::int64_t largest_batch_;  // images of a run, on any rank
  const AlgorithmChoices* choices_;
  std::vector<TunablePass> tunable_passes_;
  Arena arena_;
  Parameters parameters_;
  std::deque<Value> storage_;
  std::vector<Value*> values_;                  // by node
  std::map<const Value*, Value*> conversions_;  // to the other layout
  struct Step {
    NodeId node = 0;
    Pass pass = Pass::kAll;
    Run run;
  };
  struct Lower {
    NodeId node = 0;
    std::function<void()> write;
    std::vector<Parameter*> gradients = {};  // complete after these steps
  };
  NodeId node_ = 0;
  Pass pass_ = Pass::kAll;
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<Lower> backward_;
  Buffer* scratch_ = nullptr;
};

// Returns a call of the primitive, with its scratch memory.
template <typename Primitive>
std::unique_ptr<Call> make_call(Builder& builder,
                                const typename Primitive::primitive_desc& description) {
  auto call = std::make_unique<Call>(description);
  const Desc scratch = description.scratchpad_desc();
  if (scratch.get_size() == 0) return call;
  call->add(DNNL_ARG_SCRATCHPAD, scratch, builder.scratch(scratch.get_size()));
  return call;
}

// Appends a copy between two layouts of one tensor.
void write_reorder(Builder& builder, const Desc& from, Buffer* source, const Desc& to,
                   Buffer* target);

}  // namespace detol::inline trainer::onednn

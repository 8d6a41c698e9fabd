#pragma once

// Program: a network as a list of steps over buffers, forward and then backward.
//
// The forward steps are written unit by unit. Each lowering leaves a closure that writes its
// backward steps; they are called in the opposite order, so that when a value's gradient is needed,
// every consumer has added its term to it. Steps are numbered as they are written, which gives
// every buffer its live range and the arena its plan.
//
// A backend derives its builder from it, and gives layouts and kernels. Not thread-safe.

#include <deque>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "trainer/backends/arena.h"
#include "trainer/backends/backend.h"
#include "trainer/backends/plan.h"
#include "trainer/backends/program/flat_parameters.h"

namespace detol::inline trainer::program {

// Layout: how the elements of a value lie in memory. Only the backend knows what it means.
enum class Layout : int {};

// Value is the output of a node: a tensor and, while the backward steps are written, the terms of
// its gradient in the same layout.
struct Value {
  Shape shape;
  Layout layout{};
  bool needs_gradient = true;
  Buffer* data = nullptr;
  std::vector<Buffer*> gradients;

  std::int64_t positions() const { return shape.height * shape.width; }
};

// StepContext is what may differ between two runs of the same step.
struct StepContext {
  bool training = true;
  StepSettings settings;
  Shard shard;  // the images before and in this run; the buffers may hold more than shard.count
};

using Run = std::function<void(const StepContext&)>;

// Term is where a step writes a term of a gradient: a new buffer; the output's gradient, which it
// overwrites if nothing else reads it later; nowhere, as the term is the output's gradient.
enum class Term { kNew, kOver, kSame };

// InputGradient says how the gradient of an input follows from the output's.
struct InputGradient {
  Value* input = nullptr;
  Term term = Term::kNew;
  // Writes the steps that compute the term `dx` from the output's gradient; empty for kSame.
  std::function<void(Buffer* g, Buffer* dx)> write = {};
};

// Unary has the kernels of a layer of one input, `x`, whose output has the same layout.
struct Unary {
  std::function<void(Buffer* x, Buffer* y)> forward;         // writes the steps that compute y
  std::function<void(Buffer* g, Buffer* dx)> backward = {};  // as InputGradient::write
  Term term = Term::kNew;
};

// NormGradients are the backward steps of a norm over the batch: y = [ReLU] (norm(x) [+ addend]).
struct NormGradients {
  Value* x = nullptr;
  Value* addend = nullptr;  // or null
  Value* y = nullptr;
  bool relu = false;
  // Writes the step that sums the gradient of y, `term` or both terms, where y > 0; it stores that
  // in `masked`, unless that is null. The step touches `uses`.
  std::function<void(const std::vector<Buffer*>& uses, const Buffer* term, const Buffer* other,
                     const Buffer* masked)>
      sums = {};
  // Writes the step that computes dx from g, which is `masked` or the gradient of y.
  std::function<void(Buffer* g, bool is_masked, Buffer* dx)> input = {};
};

// Inputs are the buffers of a batch, as in BatchTargets; `targets` is unused by a loss of labels.
struct Inputs {
  Buffer *images = nullptr, *labels = nullptr, *targets = nullptr, *mixes = nullptr;
};

struct Step {
  NodeId node = 0;
  bool on_host = false;  // of a device's steps: it runs on the host and waits for the device itself
  Run run;
};

class Program {
 public:
  // Buffers start at multiples of `line` bytes. `parameters` is of the backend's builder.
  Program(const Network& network, const Recipe& recipe, const Placement& placement,
          FlatParameters& parameters, std::size_t line);
  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const Node& node(NodeId id) const { return network_.nodes()[id]; }
  bool is_output(NodeId id) const { return id + 1 == network_.nodes().size(); }
  std::span<const Shard> micro_batches() const { return micro_batches_; }
  // Returns the images for which the buffers have room: those of the largest micro-batch.
  std::int64_t batch() const { return micro_batches_.front().count; }
  std::int64_t largest_batch() const { return largest_batch_; }  // of any rank's run
  Group& group() const { return group_; }
  const Recipe& recipe() const { return recipe_; }
  bool syncs_norms() const { return recipe_.sync_batch_norm && group_.size() > 1; }
  FlatParameters& flat_parameters() const { return parameters_; }
  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }

  // Returns the value of a node in the layout it has.
  Value& value(NodeId id) { return *values_[id]; }
  const Value& value(NodeId id) const { return *values_[id]; }
  // As above, converted if its layout is another.
  virtual Value& value(NodeId id, Layout /*layout*/) { return value(id); }
  // Return the value of a unit's first input, or of another one.
  Value& input(const Unit& unit, std::size_t i = 0) { return value(node(unit.node).inputs[i]); }
  const Value& input(const Unit& unit) const { return value(node(unit.node).inputs[0]); }
  Value& input(const Unit& unit, Layout layout, std::size_t i = 0) {
    return value(node(unit.node).inputs[i], layout);
  }
  // Returns whether any input of a unit needs a gradient.
  bool needs_gradient(const Unit& unit) const;
  // Declares the value that a unit computes.
  Value& make_value(NodeId id, Layout layout, bool needs_gradient);
  // Declares the network's input, with its images and what the loss compares with.
  Inputs make_inputs(Layout layout, std::int64_t outputs);
  // Declares that a node's value is another's.
  void set_value(NodeId id, Value& value) { values_[id] = &value; }
  // Returns a value of the same bytes as `of`, in another shape or layout.
  Value& view(Value& of, const Shape& shape, Layout layout);

  // Appends a step that touches these buffers.
  void step(const std::vector<Buffer*>& uses, Run run) { append(uses, false, std::move(run)); }
  void host_step(const std::vector<Buffer*>& uses, Run run) { append(uses, true, std::move(run)); }
  // Appends a call of a kernel. An argument may be a buffer, perhaps null, for a pointer; its
  // address is taken when the step runs.
  template <typename... Parameters, typename... Arguments>
  void call(void (*kernel)(Parameters...), const Arguments&... arguments) {
    std::vector<Buffer*> uses;
    (add_use(uses, arguments), ...);
    step(uses, [=](const StepContext&) { kernel(address_of<Parameters>(arguments)...); });
  }

  // Registers the gradients of a unit's inputs, which are written in this order; those of inputs
  // that need none are left out. `own` writes the gradients of the unit's parameters from that of
  // its output, `y`, before; it is empty if there are none. REQUIRES: the unit claimed its tensors.
  void on_gradients(Value& y, std::vector<InputGradient> inputs,
                    std::function<void(Buffer* g)> own = {});

  // As above, of one input whose term overwrites `g`, by a step that adds up two terms of the
  // output's gradient itself; `other` is null if there is one.
  void on_gradient_of_terms(Value& y, Value& x,
                            std::function<void(Buffer* g, Buffer* other, Buffer* dx)> write);

  // Makes the value of a unit of one input, and registers its gradient.
  void unary(const Unit& unit, Value& x, const Unary& layer);

  // Registers the gradients of a norm. The masked gradient is stored only if another step reads it,
  // or if it is a sum.
  void on_norm_gradients(NormGradients norm);

  // Sets the node that the next steps belong to.
  void begin(NodeId node) { node_ = node; }

  // Returns the step sum = a + b, all as large as `value`; `sum` may be `a`.
  virtual Run add(const Value& value, const Buffer* a, const Buffer* b,
                  const Buffer* sum) const = 0;

  // Returns one buffer with the whole gradient of a value, or at most `most` terms of that sum.
  Buffer* gradient(Value& value) { return gradient_terms(value, 1).front(); }
  std::vector<Buffer*> gradient_terms(Value& value, std::size_t most);
  // Returns a new term of a value's gradient, which a step must write before another term is added.
  Buffer* add_gradient(Value& value);
  // Adds a buffer as a term: already written, or written by a step before another term is added.
  void pass_gradient(Value& value, Buffer* term);

  // Returns the scratch buffer that libraries share, of at least `bytes`.
  Buffer* scratch(std::size_t bytes) { return grown(scratch_, bytes); }

  // Returns a buffer of these numbers; null for none.
  Buffer* constant(std::vector<float> values);

  // Writes the backward steps of everything lowered so far.
  void lower_backward();
  std::span<const Step> steps() const { return steps_; }
  // Returns the number of steps so far, which is the index of the next.
  std::size_t size() const { return steps_.size(); }

 protected:
  Value& new_value(const Shape& shape, Layout layout, bool needs_gradient);
  Value& new_value(const Value& like) { return storage_.emplace_back(like); }
  // Calls write(buffer, numbers) for every constant(). REQUIRES: the arena has its memory.
  void write_constants(
      const std::function<void(const Buffer& buffer, std::span<const float> values)>& write) const {
    for (const auto& [buffer, values] : constants_) write(*buffer, values);
  }
  // Returns the buffer, made if it is null, with at least `bytes`, in whole lines.
  Buffer* grown(Buffer*& buffer, std::size_t bytes);

 private:
  template <typename Argument>
  static void add_use(std::vector<Buffer*>& uses, const Argument& argument) {
    if constexpr (std::is_same_v<Argument, Buffer*>)
      if (argument != nullptr) uses.push_back(argument);
  }
  template <typename Parameter, typename Argument>
  static Parameter address_of(const Argument& argument) {
    if constexpr (std::is_same_v<Argument, Buffer*>)
      return argument != nullptr ? argument->template as<std::remove_pointer_t<Parameter>>()
                                 : nullptr;
    else
      return argument;
  }

  virtual std::size_t bytes_of(const Value& value) const = 0;
  // Registers the function that writes a unit's backward steps.
  void on_backward(std::function<void()> lower) {
    backward_.push_back({node_, std::move(lower), parameters_.newly_claimed()});
  }
  void write_gradients(Buffer* g, std::span<const InputGradient> inputs);
  void append(const std::vector<Buffer*>& uses, bool on_host, Run run);
  void make_room(Value& value);

  const Network network_;
  const Recipe recipe_;
  Group& group_;
  const std::vector<Shard> micro_batches_;
  const std::int64_t largest_batch_;
  const std::size_t line_;
  FlatParameters& parameters_;
  Arena arena_;
  std::deque<Value> storage_;
  std::vector<Value*> values_;  // by node
  struct Lower {
    NodeId node = 0;
    std::function<void()> write;
    std::vector<Parameter*> gradients = {};  // complete after these steps
  };
  NodeId node_ = 0;
  std::vector<Step> steps_;
  std::vector<Lower> backward_;
  Buffer* scratch_ = nullptr;
  std::vector<std::pair<Buffer*, std::vector<float>>> constants_;
};

// Lowers a unit whose output is the sum of its inputs.
void lower_add(Program& program, const Unit& unit);

// Lowerings are the functions of a backend that lower units, by what they have to compute.
template <typename Builder>
struct Lowerings {
  using Lower = Result<void> (*)(Builder&, const Unit&);
  Lower conv, dense, batch_norm, channel_norm, activation, pool, global_pool, flatten, scale,
      dropout, concat, quantize, attention;
};

// Lowers a unit of any layer but the input; one that is the same as another node has the value of
// that.
template <typename Builder>
Result<void> lower(Builder& builder, const Unit& unit, const Lowerings<Builder>& by) {
  builder.begin(unit.node);
  if (unit.same_as) {
    builder.set_value(unit.node, builder.value(*unit.same_as));
    return {};
  }
  const LayerKind kind = builder.node(unit.node).layer.kind;
  if (row_of(kind).role == LayerRole::kChannelNorm) return by.channel_norm(builder, unit);
  switch (kind) {
    case LayerKind::kConv:
      return by.conv(builder, unit);
    case LayerKind::kDense:
      return by.dense(builder, unit);
    case LayerKind::kBatchNorm:
      return by.batch_norm(builder, unit);
    case LayerKind::kActivation:
      return by.activation(builder, unit);
    case LayerKind::kMaxPool:
    case LayerKind::kAvgPool:
      return by.pool(builder, unit);
    case LayerKind::kGlobalAvgPool:
      return by.global_pool(builder, unit);
    case LayerKind::kFlatten:
      return by.flatten(builder, unit);
    case LayerKind::kScale:
      return by.scale(builder, unit);
    case LayerKind::kDropout:
      return by.dropout(builder, unit);
    case LayerKind::kConcat:
      return by.concat(builder, unit);
    case LayerKind::kQuantize:
      return by.quantize(builder, unit);
    case LayerKind::kAttention:
      return by.attention(builder, unit);
    default:  // the input is made before
      lower_add(builder, unit);
      return {};
  }
}

// Lowers the units of a network, in their order.
template <typename Builder>
Result<void> lower_network(Builder& builder, const Network& network, const Lowerings<Builder>& by) {
  for (const Unit& unit : plan_units(network)) DETOL_TRY(lower(builder, unit, by));
  return {};
}

}  // namespace detol::inline trainer::program

#include "trainer/backends/cuda/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace detol::inline trainer::cuda {
namespace {

constexpr std::size_t kLine = 256;  // bytes: the alignment of scratch memory

// Returns this thread's block of memory, which is kept for the next candidate.
std::shared_ptr<DeviceMemory>& kept_memory() {
  static thread_local auto* const kKept = new std::shared_ptr<DeviceMemory>();
  return *kKept;
}

// Returns the last candidate's memory if that is free and large enough, else new memory.
std::shared_ptr<DeviceMemory> memory_of(std::size_t bytes) {
  std::shared_ptr<DeviceMemory>& kept = kept_memory();
  const bool free = kept != nullptr && kept.use_count() == 1;
  if (free && kept->bytes() < bytes) kept.reset();
  if (kept != nullptr && kept.use_count() == 1) return kept;
  auto made = std::make_shared<DeviceMemory>(bytes);
  if (kept == nullptr) kept = made;
  return made;
}

}  // namespace

Builder::Builder(const Network& network, const Recipe& recipe, const Placement& placement,
                 RankSums& sums, std::size_t most_scratch)
    : network_(network),
      recipe_(recipe),
      type_(precision_of(recipe) == PrecisionKind::kBf16 ? Type::kBfloat16 : Type::kFloat),
      sums_(sums),
      micro_batches_(micro_batches_of(recipe.batch_size, placement)),
      largest_batch_(largest_micro_batch(recipe.batch_size, placement)),
      most_scratch_(most_scratch),
      choices_(placement.choices),
      arena_(kLine),
      parameters_(network, recipe, type_),
      values_(network.nodes().size()),
      now_(arena_.make_persistent(sizeof(StepRow))) {}

Value& Builder::new_value(const Shape& shape, bool needs_gradient) {
  Value& value = storage_.emplace_back();
  value.shape = shape;
  value.needs_gradient = needs_gradient;
  // Kernels count packs of channels in 32 bits, enough for 128 GiB of floats.
  if (elements(value) / kLanes > std::numeric_limits<std::uint32_t>::max()) throw std::bad_alloc();
  value.data = like(value);
  return value;
}

Value& Builder::make_value(NodeId id, bool needs_gradient) {
  return *(values_[id] = &new_value(node(id).shape, needs_gradient));
}

// A value with one position is already one vector per image.
Value& Builder::flattened(Value& x) {
  if (x.positions() == 1) return x;
  Value& y = new_value({.channels = x.shape.elements()}, x.needs_gradient);
  const FlattenCall call{batch(), x.positions(), x.shape.channels};
  step({x.data, y.data}, [=, type = type_, x = x.data, y = y.data](const StepContext&) {
    flatten(type, call, x->data, y->data, device().stream);
  });
  if (!x.needs_gradient) return y;
  on_backward([=, this, &x, &y] {
    Buffer* g = gradient(y);
    Buffer* dx = add_gradient(x);
    step({g, dx}, [=, type = type_](const StepContext&) {
      unflatten(type, call, g->data, dx->data, device().stream);
    });
  });
  return y;
}

Buffer* Builder::like(const Value& value) {
  return arena_.make(static_cast<std::size_t>(elements(value)) * size_of(type_));
}

void Builder::append(const std::vector<Buffer*>& uses, bool on_host, Run run) {
  for (Buffer* buffer : uses) arena_.use(buffer, static_cast<int>(steps_.size()));
  steps_.push_back({node_, on_host, std::move(run)});
}

std::vector<Buffer*> Builder::gradient_terms(Value& value, std::size_t most) {
  std::vector<Buffer*>& terms = value.gradients;
  while (terms.size() > most) {
    Buffer *a = terms[terms.size() - 2], *b = terms.back();
    Buffer* sum = arena_.make_over(a);
    step({a, b, sum}, [=, type = type_, count = elements(value)](const StepContext&) {
      add(type, a->data, b->data, sum->data, count, device().stream);
    });
    terms.pop_back();
    terms.back() = sum;
  }
  return terms;
}

Buffer* Builder::add_gradient(Value& value) {
  make_room(value);
  value.gradients.push_back(like(value));
  return value.gradients.back();
}

void Builder::pass_gradient(Value& value, Buffer* term) {
  if (!value.needs_gradient) return;
  make_room(value);
  value.gradients.push_back(term);
}

// Adds up the terms of a gradient once there are more than two, so that few are live at a time
// however many consumers a value has. Batch norm can read two terms itself.
void Builder::make_room(Value& value) {
  if (value.gradients.size() > 2) gradient_terms(value, 1);
}

Buffer* Builder::grown(Buffer*& buffer, std::size_t bytes) {
  if (buffer == nullptr) buffer = arena_.make_persistent(0);
  buffer->bytes = std::max(buffer->bytes, (bytes + kLine - 1) / kLine * kLine);
  return buffer;
}

Result<const ConvPlan*> Builder::plan(const ConvShape& shape) {
  std::string algorithm;
  if (choices_ != nullptr) {
    ConvShape largest = shape;
    largest.images = largest_batch_;
    AlgorithmCandidates candidates{fmt::format("cudnn {} {}", device().versions, to_text(largest)),
                                   algorithms_of(largest)};
    const std::string* chosen = choices_->find(candidates.key);
    if (chosen != nullptr &&
        std::ranges::find(candidates.algorithms, *chosen) == candidates.algorithms.end())
      return fail(ErrorCode::kInternal,
                  fmt::format("'{}' was chosen for '{}', which is not known there; resume with the "
                              "program, the cuDNN and the kind of device that began the study",
                              *chosen, candidates.key));
    algorithm = chosen != nullptr ? *chosen : candidates.algorithms.front();
    tunable_convs_.push_back({std::move(candidates), largest});
  }
  const ConvPlan* plan = plan_of(shape, algorithm, most_scratch_);
  if (plan == nullptr)
    return fail(ErrorCode::kInput,
                fmt::format("cuDNN has no algorithm to compute {} within the device's memory",
                            to_text(shape)));
  scratch(plan->scratch_bytes());
  return plan;
}

std::size_t Builder::declare_dropout(NodeId node) {
  dropouts_.push_back(node);
  if (keys_ == nullptr) keys_ = arena_.make_persistent(0);
  keys_->bytes = (dropouts_.size() * sizeof(std::uint64_t) + kLine - 1) / kLine * kLine;
  return dropouts_.size() - 1;
}

const std::uint64_t* Builder::key(std::size_t index) const {
  return keys_->as<std::uint64_t>() + index;
}

void Builder::lower_backward() {
  while (!backward_.empty()) {
    const Lower lower = std::move(backward_.back());
    backward_.pop_back();
    begin(lower.node);
    lower.write();
  }
}

void Builder::place() {
  parameters_.reserve(arena_, micro_batches_.size() > 1);
  if (keys_ == nullptr) keys_ = arena_.make_persistent(sizeof(std::uint64_t));
  memory_ = memory_of(arena_.plan());
  arena_.bind(memory_->data());
  for (Buffer* buffer : {sums_scratch_, now_, keys_}) {
    if (buffer != nullptr) set_to_zero(buffer->data, buffer->bytes);
  }
  parameters_.bind();
}

}  // namespace detol::inline trainer::cuda

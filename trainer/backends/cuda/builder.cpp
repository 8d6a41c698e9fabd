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
    : Program(network, recipe, placement, parameters_, kLine),
      type_(precision_of(recipe) == PrecisionKind::kBf16 ? Type::kBfloat16 : Type::kFloat),
      sums_(sums),
      most_scratch_(most_scratch),
      choices_(placement.choices),
      parameters_(network, recipe, type_),
      now_(arena().make_persistent(sizeof(StepRow))) {}

std::size_t Builder::bytes_of(const Value& value) const {
  // Kernels count packs of channels in 32 bits, enough for 128 GiB of floats.
  if (elements(value) / kLanes > std::numeric_limits<std::uint32_t>::max()) throw std::bad_alloc();
  return static_cast<std::size_t>(elements(value)) * size_of(type_);
}

// A value with one position is already one vector per image.
Value& Builder::flattened(Value& x) {
  if (x.positions() == 1) return x;
  Value& y = new_value({.channels = x.shape.elements()}, kOfNetwork, x.needs_gradient);
  const FlattenCall shape{batch(), x.positions(), x.shape.channels};
  launch(flatten, shape, x.data, y.data);
  const auto backward = [=, this](Buffer* g, Buffer* dx) { launch(unflatten, shape, g, dx); };
  on_gradients(y, {{.input = &x, .write = backward}});
  return y;
}

program::Run Builder::add(const Value& value, const Buffer* a, const Buffer* b,
                          const Buffer* sum) const {
  return [=, type = type_, count = elements(value)](const StepContext&) {
    cuda::add(type, a->data, b->data, sum->data, count, device().stream);
  };
}

Result<const ConvPlan*> Builder::plan(const ConvShape& shape) {
  std::string algorithm;
  if (choices_ != nullptr) {
    ConvShape largest = shape;
    largest.images = largest_batch();
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
  grown(keys_, dropouts_.size() * sizeof(std::uint64_t));
  return dropouts_.size() - 1;
}

const std::uint64_t* Builder::key(std::size_t index) const {
  return keys_->as<std::uint64_t>() + index;
}

void Builder::place() {
  parameters_.reserve(arena(), micro_batches().size() > 1);
  if (keys_ == nullptr) keys_ = arena().make_persistent(sizeof(std::uint64_t));
  memory_ = memory_of(arena().plan());
  arena().bind(memory_->data());
  for (Buffer* buffer : {sums_scratch_, now_, keys_}) {
    if (buffer != nullptr) set_to_zero(buffer->data, buffer->bytes);
  }
  parameters_.bind();
  write_constants([](const Buffer& buffer, std::span<const float> values) {
    to_device(buffer.data, values.data(), values.size_bytes());
  });
  wait();
}

}  // namespace detol::inline trainer::cuda

#include "trainer/backends/program/flat_parameters.h"

#include <algorithm>
#include <cmath>

#include "trainer/backends/optimizer.h"

namespace detol::inline trainer::program {
namespace {

// Floats of a cache line: every tensor starts on one, so that no register holds values of both a
// tensor that decays and one that does not.
constexpr std::size_t kAlignment = 16;

// A bucket ends with the tensor that brings it to at least this many floats.
constexpr std::size_t kBucketFloats = std::size_t{1} << 15;

// Returns which of the flat buffers' three sections a tensor is in.
int section_of(const ParameterSpec& spec) {
  if (!spec.trainable) return 2;
  return spec.decays ? 0 : 1;
}

Tensor exported(const Parameter& parameter, std::span<const float> flat) {
  const ParameterSpec& spec = parameter.origin.spec;
  Tensor tensor{parameter.origin.name, spec.shape, {}};
  tensor.data.resize(static_cast<std::size_t>(spec.elements()));
  parameter.layout->to_plain(flat.data() + parameter.offset, tensor.data.data());
  return tensor;
}

void import(const Parameter& parameter, const Tensor& tensor, std::span<float> flat) {
  parameter.layout->from_plain(tensor.data.data(), flat.data() + parameter.offset);
}

}  // namespace

UpdateNumbers update_numbers(const Recipe& recipe, const StepSettings& settings) {
  const auto steps = static_cast<double>(settings.step + 1);
  return {.lr = settings.lr,
          .unbiased1 = static_cast<float>(1 - std::pow(recipe.momentum, steps)),
          .unbiased2 = static_cast<float>(1 - std::pow(recipe.beta2, steps)),
          .kept = static_cast<float>(average_decay(recipe, settings.step))};
}

FlatParameters::FlatParameters(const Network& network, const Recipe& recipe) : recipe_(recipe) {
  for (const NetworkParameter& origin : network.parameters())
    parameters_.push_back({.origin = origin});
}

Parameter* FlatParameters::claim(NodeId node, std::string_view name,
                                 std::shared_ptr<const TensorLayout> layout) {
  for (Parameter& parameter : parameters_) {
    if (parameter.origin.node != node || parameter.origin.spec.name != name) continue;
    parameter.floats = (layout->floats() + kAlignment - 1) / kAlignment * kAlignment;
    parameter.layout = std::move(layout);
    claimed_.push_back(&parameter);
    return &parameter;
  }
  return nullptr;
}

const ParameterSpec* FlatParameters::spec_of(NodeId node, std::string_view name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.origin.node == node && parameter.origin.spec.name == name)
      return &parameter.origin.spec;
  }
  return nullptr;
}

void FlatParameters::assign_offsets() {
  for (int section = 0; section < 3; ++section) {
    for (Parameter& parameter : parameters_) {
      if (section_of(parameter.origin.spec) != section) continue;
      parameter.offset = floats_;
      floats_ += parameter.floats;
    }
    if (section == 0) decaying_ = floats_;
    if (section <= 1) trainable_ = floats_;
  }
}

void FlatParameters::reserve(Arena& arena, bool accumulates) {
  assign_offsets();
  weights_ = arena.make_persistent(bytes());
  gradients_ = arena.make_persistent(bytes());
  if (accumulates) sum_ = arena.make_persistent(bytes());
  for (int i = 0; i < moments_of(recipe_); ++i) moments_.push_back(arena.make_persistent(bytes()));
  if (recipe_.ema > 0) average_ = arena.make_persistent(bytes());
  reserve_more(arena);
}

void FlatParameters::bind() {
  for (const Buffer* flat : {weights_, gradients_, sum_, average_}) {
    if (flat != nullptr) set_to_zero(*flat, bytes());
  }
  for (const Buffer* flat : moments_) set_to_zero(*flat, bytes());
  for (Parameter& parameter : parameters_) {
    const std::size_t offset = parameter.offset * sizeof(float);
    parameter.weight.data = weights_->data + offset;
    parameter.gradient.data = gradients_->data + offset;
    parameter.master = parameter.weight.as<float>();
  }
  bind_more(parameters_);
}

void FlatParameters::finish_micro_batch(bool is_first) {
  finish_gradients();
  if (sum_ == nullptr) return;
  if (is_first) set_to_zero(*sum_, trainable_ * sizeof(float));
  add(sum_->as<float>(), last_gradients(), trainable_);
}

void FlatParameters::update(const UpdateNumbers* now) {
  if (trainable_ == 0) return;
  if (recipe_.clip_norm > 0) clip();
  apply_rule(now);
  if (average_ != nullptr) move_average(now);
}

void FlatParameters::swap_average() {
  if (average_ == nullptr) return;
  swap(weights(), average(), floats_);
  weights_changed();
}

// Collects tensors from the last to the first, the order in which the backward pass writes them.
std::vector<ScheduledBucket> FlatParameters::buckets() const {
  std::vector<ScheduledBucket> all;
  for (int section = 0; section < 2; ++section) {
    bool open = false;
    for (auto at = parameters_.rbegin(); at != parameters_.rend(); ++at) {
      if (section_of(at->origin.spec) != section) continue;
      if (!open) all.emplace_back();
      ScheduledBucket& bucket = all.back();
      bucket.bucket.first = at->offset;
      bucket.bucket.floats += at->floats;
      bucket.ready = std::max(bucket.ready, at->ready);
      open = bucket.bucket.floats < kBucketFloats;
    }
  }
  std::ranges::stable_sort(all, {}, &ScheduledBucket::ready);
  return all;
}

TrainingState FlatParameters::state() const {
  TrainingState state;
  std::vector<float> copy;
  const auto all_of = [&](const Buffer& flat) {
    Weights tensors;
    const std::span<const float> values = read(flat, 0, floats_, copy);
    for (const Parameter& parameter : parameters_) tensors.push_back(exported(parameter, values));
    return tensors;
  };
  state.weights = all_of(*weights_);
  for (const Buffer* moment : moments_)
    state.moments.push_back(plain_of(read(*moment, 0, floats_, copy)));
  if (average_ != nullptr) state.average = all_of(*average_);
  return state;
}

void FlatParameters::set_state(const TrainingState& state) {
  const auto set = [&](const Buffer& flat, const Weights& tensors) {
    write(flat, 0, floats_, [&](std::span<float> values) {
      for (std::size_t i = 0; i < parameters_.size(); ++i)
        import(parameters_[i], tensors[i], values);
    });
  };
  set(*weights_, state.weights);
  if (average_ != nullptr) set(*average_, scored_weights(state));
  for (std::size_t m = 0; m < moments_.size(); ++m) {
    set_to_zero(*moments_[m], bytes());
    if (m < state.moments.size())
      write(*moments_[m], 0, floats_,
            [&](std::span<float> values) { flatten(state.moments[m], values); });
  }
  weights_changed();
}

std::vector<float> FlatParameters::statistics() const {
  std::vector<float> all, copy;
  for (const Buffer* flat : {weights_, average_}) {
    if (flat == nullptr) continue;
    const std::span<const float> values = read(*flat, trainable_, floats_ - trainable_, copy);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

void FlatParameters::set_statistics(std::span<const float> values) {
  const std::size_t each = floats_ - trainable_;
  for (const Buffer* flat : {weights_, average_}) {
    if (flat == nullptr) continue;
    write(*flat, trainable_, each,
          [&](std::span<float> to) { std::ranges::copy(values.first(each), to.begin()); });
    values = values.subspan(each);
  }
}

Weights FlatParameters::plain_of(std::span<const float> flat) const {
  Weights tensors;
  for (const Parameter& parameter : parameters_) {
    if (parameter.origin.spec.trainable) tensors.push_back(exported(parameter, flat));
  }
  return tensors;
}

void FlatParameters::flatten(const Weights& tensors, std::span<float> flat) const {
  std::size_t next = 0;
  for (const Parameter& parameter : parameters_) {
    if (parameter.origin.spec.trainable) import(parameter, tensors[next++], flat);
  }
}

}  // namespace detol::inline trainer::program

#include "trainer/backends/cpu/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "trainer/backends/optimizer.h"

namespace detol::inline trainer::onednn {
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

Tensor exported(const Parameter& parameter, const float* flat) {
  const ParameterSpec& spec = parameter.origin.spec;
  Tensor tensor{parameter.origin.name, spec.shape, {}};
  tensor.data.resize(static_cast<std::size_t>(spec.elements()));
  reorder_now(parameter.native, flat + parameter.offset, parameter.plain, tensor.data.data());
  return tensor;
}

void import(const Parameter& parameter, const Tensor& tensor, float* flat) {
  reorder_now(parameter.plain, tensor.data.data(), parameter.native, flat + parameter.offset);
}

}  // namespace

Parameters::Parameters(const Network& network, const Recipe& recipe) : recipe_(recipe) {
  for (const NetworkParameter& origin : network.parameters()) {
    parameters_.push_back(
        {.origin = origin, .plain = {}, .native = {}, .weight = {}, .gradient = {}});
  }
}

Parameter* Parameters::claim(NodeId node, std::string_view name, const Desc& plain,
                             const Desc& native) {
  for (Parameter& parameter : parameters_) {
    if (parameter.origin.node != node || parameter.origin.spec.name != name) continue;
    const std::size_t floats = native.get_size() / sizeof(float);
    parameter.floats = (floats + kAlignment - 1) / kAlignment * kAlignment;
    parameter.plain = plain;
    parameter.native = native;
    claimed_.push_back(&parameter);
    return &parameter;
  }
  return nullptr;
}

Parameter* Parameters::claim(NodeId node, std::string_view name) {
  for (const Parameter& parameter : parameters_) {
    if (parameter.origin.node != node || parameter.origin.spec.name != name) continue;
    const Desc vector = floats_desc(parameter.origin.spec.shape, Tag::a);
    return claim(node, name, vector, vector);
  }
  return nullptr;
}

void Parameters::assign_offsets() {
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

void Parameters::reserve(Arena& arena, bool accumulates) {
  assign_offsets();
  weights_ = arena.make_persistent(bytes());
  gradients_ = arena.make_persistent(bytes());
  if (accumulates) sum_ = arena.make_persistent(bytes());
  for (int i = 0; i < moments_of(recipe_); ++i) moments_.push_back(arena.make_persistent(bytes()));
  if (recipe_.ema > 0) average_ = arena.make_persistent(bytes());
}

void Parameters::bind() {
  for (const Buffer* flat : {weights_, gradients_, sum_, average_}) {
    if (flat != nullptr) std::memset(flat->data, 0, bytes());
  }
  for (const Buffer* flat : moments_) std::memset(flat->data, 0, bytes());
  for (Parameter& parameter : parameters_) {
    const std::size_t offset = parameter.offset * sizeof(float);
    parameter.weight.data = weights_->data + offset;
    parameter.gradient.data = gradients_->data + offset;
  }
}

void Parameters::accumulate() {
  machine().kernels->add(sum_->as<float>(), gradients_->as<float>(), sum_->as<float>(), trainable_);
}

std::span<float> Parameters::gradients() {
  return {(sum_ != nullptr ? sum_ : gradients_)->as<float>(), trainable_};
}

// Collects tensors from the last to the first, the order in which the backward pass writes them.
std::vector<ScheduledBucket> Parameters::buckets() const {
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

std::span<float> Parameters::statistics() {
  return {weights_->as<float>() + trainable_, floats_ - trainable_};
}

std::span<float> Parameters::averaged_statistics() {
  if (average_ == nullptr) return {};
  return {average_->as<float>() + trainable_, floats_ - trainable_};
}

void Parameters::swap_average() {
  if (average_ == nullptr) return;
  std::swap_ranges(weights_->as<float>(), weights_->as<float>() + floats_, average_->as<float>());
}

void Parameters::update(const StepSettings& settings) {
  clip();
  if (optimizer_of(recipe_) == OptimizerKind::kLars) {
    update_by_lars(settings);
  } else {
    update_range(settings, {0, decaying_, recipe_.weight_decay});
    update_range(settings, {decaying_, trainable_, 0});
  }
  if (average_ != nullptr) {
    const auto kept = static_cast<float>(average_decay(recipe_, settings.step));
    machine().kernels->average(kept, weights_->as<float>(), average_->as<float>(), floats_);
  }
  forget_gradients();
}

void Parameters::forget_gradients() {
  if (sum_ != nullptr) std::memset(sum_->data, 0, bytes());
}

void Parameters::clip() {
  if (recipe_.clip_norm <= 0) return;
  const std::span<float> all = gradients();
  const auto factor = static_cast<float>(clip_factor(recipe_, std::sqrt(sum_of_squares(all))));
  if (factor != 1) machine().kernels->multiply_all(factor, all.data(), all.size());
}

void Parameters::update_range(const StepSettings& settings, Range range) {
  const Kernels& kernels = *machine().kernels;
  const std::size_t floats = range.end - range.first;
  float* weights = weights_->as<float>() + range.first;
  const float* by = gradients().data() + range.first;
  float* moment = moments_[0]->as<float>() + range.first;
  float* second = moments_.size() > 1 ? moments_[1]->as<float>() + range.first : nullptr;
  const auto steps = static_cast<double>(settings.step + 1);
  kernels.update({.optimizer = optimizer_of(recipe_),
                  .lr = static_cast<float>(settings.lr),
                  .momentum = static_cast<float>(recipe_.momentum),
                  .beta2 = static_cast<float>(recipe_.beta2),
                  .epsilon = static_cast<float>(recipe_.epsilon),
                  .decay = static_cast<float>(range.decay),
                  .nesterov = recipe_.nesterov,
                  .unbiased1 = static_cast<float>(1 - std::pow(recipe_.momentum, steps)),
                  .unbiased2 = static_cast<float>(1 - std::pow(recipe_.beta2, steps))},
                 weights, by, moment, second, floats);
}

void Parameters::update_by_lars(const StepSettings& settings) {
  for (const Parameter& parameter : parameters_) {
    if (!parameter.origin.spec.trainable) continue;
    const bool decays = parameter.origin.spec.decays;
    const std::span<float> weights(parameter.weight.as<float>(), parameter.floats);
    const std::span<const float> by = gradients().subspan(parameter.offset, parameter.floats);
    const double rate = decays ? lars_rate(recipe_, settings.lr, std::sqrt(sum_of_squares(weights)),
                                           std::sqrt(sum_of_squares(by)))
                               : settings.lr;
    machine().kernels->lars({static_cast<float>(rate), static_cast<float>(recipe_.momentum),
                             static_cast<float>(decays ? recipe_.weight_decay : 0)},
                            weights.data(), by.data(), moments_[0]->as<float>() + parameter.offset,
                            weights.size());
  }
}

TrainingState Parameters::state() const {
  TrainingState state;
  for (const Parameter& parameter : parameters_) {
    state.weights.push_back(exported(parameter, weights_->as<float>()));
  }
  for (const Buffer* moment : moments_) {
    state.moments.push_back(plain_of({moment->as<float>(), trainable_}));
  }
  for (const Parameter& parameter : parameters_) {
    if (average_ != nullptr) state.average.push_back(exported(parameter, average_->as<float>()));
  }
  return state;
}

void Parameters::set_state(const TrainingState& state) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    import(parameters_[i], state.weights[i], weights_->as<float>());
    if (average_ != nullptr)
      import(parameters_[i], scored_weights(state)[i], average_->as<float>());
  }
  for (std::size_t m = 0; m < moments_.size(); ++m) {
    std::memset(moments_[m]->data, 0, bytes());
    if (m < state.moments.size()) flatten(state.moments[m], {moments_[m]->as<float>(), trainable_});
  }
}

Weights Parameters::plain_of(std::span<const float> flat) const {
  Weights tensors;
  for (const Parameter& parameter : parameters_) {
    if (parameter.origin.spec.trainable) tensors.push_back(exported(parameter, flat.data()));
  }
  return tensors;
}

void Parameters::flatten(const Weights& tensors, std::span<float> flat) const {
  std::size_t next = 0;
  for (const Parameter& parameter : parameters_) {
    if (parameter.origin.spec.trainable) import(parameter, tensors[next++], flat.data());
  }
}

}  // namespace detol::inline trainer::onednn

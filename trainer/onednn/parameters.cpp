#include "trainer/onednn/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace detol::onednn {
namespace {

// A cache line: every tensor starts on one, so that no register crosses from a tensor that
// decays into one that does not.
constexpr std::size_t kAlignment = 16;

// Which of the flat buffers' three parts a tensor is in.
int part_of(const ParameterSpec& spec) {
  if (!spec.trainable) return 2;
  return spec.decays ? 0 : 1;
}

Tensor exported(const Parameter& parameter, const Buffer& flat) {
  const ParameterSpec& spec = parameter.origin.spec;
  Tensor tensor{parameter.origin.name, spec.shape, {}};
  tensor.data.resize(static_cast<std::size_t>(spec.elements()));
  reorder_now(parameter.native, flat.as<float>() + parameter.offset, parameter.plain,
              tensor.data.data());
  return tensor;
}

void import(const Parameter& parameter, const Tensor& tensor, const Buffer& flat) {
  reorder_now(parameter.plain, tensor.data.data(), parameter.native,
              flat.as<float>() + parameter.offset);
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
  for (int part = 0; part < 3; ++part) {
    for (Parameter& parameter : parameters_) {
      if (part_of(parameter.origin.spec) != part) continue;
      parameter.offset = floats_;
      floats_ += parameter.floats;
    }
    if (part == 0) decaying_ = floats_;
    if (part <= 1) trainable_ = floats_;
  }
}

void Parameters::reserve(Arena& arena, bool accumulates) {
  assign_offsets();
  weights_ = arena.make_persistent(bytes());
  gradients_ = arena.make_persistent(bytes());
  if (accumulates) sum_ = arena.make_persistent(bytes());
  const int moments = recipe_.optimizer == "adamw" ? 2 : 1;
  for (int i = 0; i < moments; ++i) moments_.push_back(arena.make_persistent(bytes()));
}

void Parameters::bind() {
  for (const Buffer* flat : {weights_, gradients_, sum_}) {
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

std::span<float> Parameters::statistics() {
  return {weights_->as<float>() + trainable_, floats_ - trainable_};
}

void Parameters::update(const StepSettings& settings) {
  update_range(settings, 0, decaying_, recipe_.weight_decay);
  update_range(settings, decaying_, trainable_, 0);
  if (sum_ != nullptr) std::memset(sum_->data, 0, bytes());
}

void Parameters::update_range(const StepSettings& settings, std::size_t first, std::size_t end,
                              double decay) {
  const Kernels& kernels = *machine().kernels;
  float* weights = weights_->as<float>() + first;
  const float* by = gradients().data() + first;
  float* moment = moments_[0]->as<float>() + first;
  const auto lr = static_cast<float>(settings.lr), momentum = static_cast<float>(recipe_.momentum);
  if (moments_.size() == 1) {
    const SgdStep step{lr, momentum, static_cast<float>(decay), recipe_.nesterov};
    return kernels.sgd(step, weights, by, moment, end - first);
  }
  const auto steps = static_cast<double>(settings.step + 1);
  const AdamStep step{lr,
                      momentum,
                      static_cast<float>(recipe_.beta2),
                      static_cast<float>(recipe_.epsilon),
                      static_cast<float>(decay),
                      static_cast<float>(1 - std::pow(recipe_.momentum, steps)),
                      static_cast<float>(1 - std::pow(recipe_.beta2, steps))};
  kernels.adamw(step, weights, by, moment, moments_[1]->as<float>() + first, end - first);
}

TrainingState Parameters::state() const {
  TrainingState state;
  for (const Parameter& parameter : parameters_) {
    state.weights.push_back(exported(parameter, *weights_));
  }
  for (const Buffer* moment : moments_) {
    Weights& tensors = state.moments.emplace_back();
    for (const Parameter& parameter : parameters_) {
      if (parameter.origin.spec.trainable) tensors.push_back(exported(parameter, *moment));
    }
  }
  return state;
}

void Parameters::set_state(const TrainingState& state) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    import(parameters_[i], state.weights[i], *weights_);
  }
  for (std::size_t m = 0; m < moments_.size(); ++m) {
    std::memset(moments_[m]->data, 0, bytes());
    if (m >= state.moments.size()) continue;
    std::size_t next = 0;
    for (const Parameter& parameter : parameters_) {
      if (!parameter.origin.spec.trainable) continue;
      import(parameter, state.moments[m][next++], *moments_[m]);
    }
  }
}

}  // namespace detol::onednn

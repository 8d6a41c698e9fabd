#include "trainer/backends/cuda/parameters.h"

#include <algorithm>
#include <iterator>

#include "trainer/backends/cuda/device.h"

namespace detol::inline trainer::cuda {
namespace {

// Tensors start on lines, so that weight decay applies to a whole pack of floats or to none of it.
constexpr std::size_t kFloatsOfALine = 16;
constexpr std::int64_t kChunk = 1 << 16;  // floats that one block sums up

// Returns which of the flat buffers' three sections a tensor is in.
int section_of(const ParameterSpec& spec) {
  if (!spec.trainable) return 2;
  return spec.decays ? 0 : 1;
}

// Calls visit(index in the plain layout, index in the flat buffer) for every element.
template <typename Visit>
void for_elements(const Parameter& parameter, Visit visit) {
  const WeightLayout& n = parameter.layout;
  std::size_t plain = 0;
  for (std::int64_t output = 0; output < n.outputs; ++output) {
    for (std::int64_t input = 0; input < n.inputs; ++input) {
      for (std::int64_t tap = 0; tap < n.taps; ++tap)
        visit(plain++, parameter.offset + static_cast<std::size_t>(n.at(output, input, tap)));
    }
  }
}

Tensor exported(const Parameter& parameter, std::span<const float> flat) {
  const ParameterSpec& spec = parameter.origin.spec;
  Tensor tensor{parameter.origin.name, spec.shape,
                std::vector<float>(static_cast<std::size_t>(spec.elements()))};
  for_elements(parameter,
               [&](std::size_t plain, std::size_t at) { tensor.data[plain] = flat[at]; });
  return tensor;
}

void import(const Parameter& parameter, const Tensor& tensor, std::span<float> flat) {
  for_elements(parameter,
               [&](std::size_t plain, std::size_t at) { flat[at] = tensor.data[plain]; });
}

}  // namespace

Parameters::Parameters(const Network& network, const Recipe& recipe, Type type)
    : recipe_(recipe), type_(type) {
  for (const NetworkParameter& origin : network.parameters())
    parameters_.push_back({.origin = origin, .layout = {}});
}

Parameter* Parameters::claim(NodeId node, std::string_view name, const WeightLayout& layout) {
  for (Parameter& parameter : parameters_) {
    if (parameter.origin.node != node || parameter.origin.spec.name != name) continue;
    parameter.layout = layout;
    const auto floats = static_cast<std::size_t>(layout.floats());
    parameter.floats = (floats + kFloatsOfALine - 1) / kFloatsOfALine * kFloatsOfALine;
    return &parameter;
  }
  return nullptr;
}

Parameter* Parameters::claim(NodeId node, std::string_view name) {
  for (const Parameter& parameter : parameters_) {
    if (parameter.origin.node != node || parameter.origin.spec.name != name) continue;
    const std::int64_t values = parameter.origin.spec.elements();
    return claim(node, name, {.inputs = values, .padded_inputs = padded(values)});
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

void Parameters::make_chunks() {
  for (const Parameter& parameter : parameters_) {
    if (!parameter.origin.spec.trainable) continue;
    const auto floats = static_cast<std::int64_t>(parameter.floats);
    const auto first = static_cast<std::int64_t>(parameter.offset);
    LarsTensor tensor{first, floats, static_cast<int>(chunks_.size()), 0,
                      parameter.origin.spec.decays};
    for (std::int64_t at = 0; at < floats; at += kChunk)
      chunks_.push_back({first + at, std::min(kChunk, floats - at)});
    tensor.end_chunk = static_cast<int>(chunks_.size());
    tensors_.push_back(tensor);
  }
}

void Parameters::reserve(Arena& arena, bool accumulates) {
  assign_offsets();
  make_chunks();
  weights_ = arena.make_persistent(bytes());
  gradients_ = arena.make_persistent(bytes());
  if (accumulates) sum_ = arena.make_persistent(bytes());
  for (int i = 0; i < moments_of(recipe_); ++i) moments_.push_back(arena.make_persistent(bytes()));
  if (recipe_.ema > 0) average_ = arena.make_persistent(bytes());
  if (type_ != Type::kFloat) {
    narrow_ = arena.make_persistent(decaying_ * size_of(type_));
    narrow_gradients_ = arena.make_persistent(decaying_ * size_of(type_));
  }
  chunks_on_device_ = arena.make_persistent(chunks_.size() * sizeof(Chunk));
  tensors_on_device_ = arena.make_persistent(tensors_.size() * sizeof(LarsTensor));
  weight_sums_ = arena.make_persistent(chunks_.size() * sizeof(double));
  gradient_sums_ = arena.make_persistent(chunks_.size() * sizeof(double));
  factor_ = arena.make_persistent(sizeof(float));
}

void Parameters::bind() {
  for (const Buffer* flat : {weights_, gradients_, sum_, average_, narrow_, narrow_gradients_}) {
    if (flat != nullptr) set_to_zero(flat->data, flat->bytes);
  }
  for (const Buffer* moment : moments_) set_to_zero(moment->data, moment->bytes);
  to_device(chunks_on_device_->data, chunks_.data(), chunks_.size() * sizeof(Chunk));
  to_device(tensors_on_device_->data, tensors_.data(), tensors_.size() * sizeof(LarsTensor));
  for (Parameter& parameter : parameters_) {
    parameter.master = weights_->as<float>() + parameter.offset;
    parameter.weight = parameter.master;
    parameter.gradient = gradients_->as<float>() + parameter.offset;
    if (narrow_ == nullptr || !parameter.origin.spec.decays) continue;
    const std::size_t at = parameter.offset * size_of(type_);
    parameter.weight = narrow_->data + at;
    parameter.gradient = narrow_gradients_->data + at;
  }
}

void Parameters::finish_micro_batch(bool is_first) const {
  const Stream stream = device().stream;
  if (narrow_gradients_ != nullptr)
    to_floats(type_, narrow_gradients_->data, gradients_->as<float>(),
              static_cast<std::int64_t>(decaying_), stream);
  for (const Parameter& parameter : parameters_) {
    const WeightLayout& n = parameter.layout;
    if (n.group_outputs != 0)
      keep_groups(gradients_->as<float>() + parameter.offset, n.padded_outputs, n.taps,
                  n.padded_inputs, n.group_outputs, n.inputs, stream);
  }
  if (sum_ == nullptr) return;
  if (is_first) set_to_zero(sum_->data, trainable_ * sizeof(float));
  accumulate(sum_->as<float>(), gradients_->as<float>(), static_cast<std::int64_t>(trainable_),
             stream);
}

float* Parameters::gradients() const {
  return (sum_ != nullptr ? sum_ : gradients_)->as<float>();
}

void Parameters::clip() const {
  if (recipe_.clip_norm <= 0) return;
  const Stream stream = device().stream;
  const auto chunks = static_cast<int>(chunks_.size());
  sums_of_squares(gradients(), chunks_on_device_->as<Chunk>(), chunks, gradient_sums_->as<double>(),
                  stream);
  clip_factor(gradient_sums_->as<double>(), chunks, recipe_.clip_norm, factor_->as<float>(),
              stream);
  multiply_by(gradients(), factor_->as<float>(), static_cast<std::int64_t>(trainable_), stream);
}

void Parameters::update_by_lars(const StepRow* now) const {
  const Stream stream = device().stream;
  const auto chunks = static_cast<int>(chunks_.size());
  const auto* of = chunks_on_device_->as<Chunk>();
  sums_of_squares(weights_->as<float>(), of, chunks, weight_sums_->as<double>(), stream);
  sums_of_squares(gradients(), of, chunks, gradient_sums_->as<double>(), stream);
  update_lars({.decay = recipe_.weight_decay,
               .trust = recipe_.trust,
               .momentum = static_cast<float>(recipe_.momentum),
               .weights = weights_->as<float>(),
               .velocity = moments_[0]->as<float>(),
               .gradients = gradients(),
               .narrow = narrow_ != nullptr ? narrow_->data : nullptr,
               .decaying = static_cast<std::int64_t>(decaying_),
               .tensors = tensors_on_device_->as<LarsTensor>(),
               .count = static_cast<int>(tensors_.size()),
               .weight_sums = weight_sums_->as<double>(),
               .gradient_sums = gradient_sums_->as<double>(),
               .now = now},
              stream);
}

void Parameters::update(const StepRow* now) const {
  if (trainable_ == 0) return;
  const Stream stream = device().stream;
  clip();
  if (optimizer_of(recipe_) == OptimizerKind::kLars) {
    update_by_lars(now);
  } else {
    const bool has_second = moments_.size() > 1;
    cuda::update({.optimizer = optimizer_of(recipe_),
                  .nesterov = recipe_.nesterov,
                  .momentum = static_cast<float>(recipe_.momentum),
                  .beta2 = static_cast<float>(recipe_.beta2),
                  .epsilon = static_cast<float>(recipe_.epsilon),
                  .decay = static_cast<float>(recipe_.weight_decay),
                  .decaying = static_cast<std::int64_t>(decaying_),
                  .count = static_cast<std::int64_t>(trainable_),
                  .weights = weights_->as<float>(),
                  .first = moments_[0]->as<float>(),
                  .second = has_second ? moments_[1]->as<float>() : nullptr,
                  .gradients = gradients(),
                  .narrow = narrow_ != nullptr ? narrow_->data : nullptr,
                  .now = now},
                 stream);
  }
  if (average_ != nullptr)
    move_average(weights_->as<float>(), average_->as<float>(), static_cast<std::int64_t>(floats_),
                 now, stream);
}

void Parameters::refresh_narrow() const {
  if (narrow_ != nullptr)
    from_floats(type_, weights_->as<float>(), narrow_->data, static_cast<std::int64_t>(decaying_),
                device().stream);
}

void Parameters::swap_average() const {
  if (average_ == nullptr) return;
  swap(weights_->as<float>(), average_->as<float>(), static_cast<std::int64_t>(floats_),
       device().stream);
  refresh_narrow();
}

std::vector<Parameters::Run> Parameters::statistics() const {
  std::vector<Run> runs;
  for (const Buffer* flat : {weights_, average_}) {
    if (flat != nullptr) runs.push_back({flat->as<float>() + trainable_, floats_ - trainable_});
  }
  return runs;
}

std::vector<float> Parameters::read(const Buffer* flat) const {
  std::vector<float> values(floats_);
  to_host(values.data(), flat->data, bytes());
  return values;
}

void Parameters::write(const Buffer* flat, std::span<const float> values) const {
  to_device(flat->data, values.data(), values.size_bytes());
  wait();  // the caller may change `values` again
}

TrainingState Parameters::state() const {
  TrainingState state;
  const auto all = [&](const Buffer* flat, Weights& out) {
    const std::vector<float> values = read(flat);
    for (const Parameter& parameter : parameters_) out.push_back(exported(parameter, values));
  };
  all(weights_, state.weights);
  for (const Buffer* moment : moments_) state.moments.push_back(plain_of(read(moment)));
  if (average_ != nullptr) all(average_, state.average);
  return state;
}

void Parameters::set_state(const TrainingState& state) {
  const auto set = [&](const Buffer* flat, const Weights& tensors) {
    std::vector<float> values(floats_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) import(parameters_[i], tensors[i], values);
    write(flat, values);
  };
  set(weights_, state.weights);
  if (average_ != nullptr) set(average_, scored_weights(state));
  for (std::size_t m = 0; m < moments_.size(); ++m) {
    std::vector<float> values(floats_);
    if (m < state.moments.size()) flatten(state.moments[m], values);
    write(moments_[m], values);
  }
  refresh_narrow();
}

Weights Parameters::plain_of(std::span<const float> flat) const {
  Weights tensors;
  for (const Parameter& parameter : parameters_) {
    if (parameter.origin.spec.trainable) tensors.push_back(exported(parameter, flat));
  }
  return tensors;
}

void Parameters::flatten(const Weights& tensors, std::span<float> flat) const {
  std::size_t next = 0;
  for (const Parameter& parameter : parameters_) {
    if (parameter.origin.spec.trainable) import(parameter, tensors[next++], flat);
  }
}

}  // namespace detol::inline trainer::cuda

#include "trainer/backends/cuda/parameters.h"

#include <algorithm>
#include <iterator>

#include "trainer/backends/cuda/device.h"

namespace detol::inline trainer::cuda {
namespace {

constexpr std::int64_t kChunk = 1 << 16;  // floats that one block sums up

class StoredWeights final : public program::TensorLayout {
 public:
  explicit StoredWeights(const WeightLayout& layout) : layout_(layout) {}

  std::size_t floats() const override { return static_cast<std::size_t>(layout_.floats()); }
  void to_plain(const float* stored, float* plain) const override {
    for_elements([&](std::int64_t at) { *plain++ = stored[at]; });
  }
  void from_plain(const float* plain, float* stored) const override {
    for_elements([&](std::int64_t at) { stored[at] = *plain++; });
  }

 private:
  // Calls visit(index in the flat buffer's layout) for every element in the plain order.
  template <typename Visit>
  void for_elements(Visit visit) const {
    for (std::int64_t output = 0; output < layout_.outputs; ++output) {
      for (std::int64_t input = 0; input < layout_.inputs; ++input) {
        for (std::int64_t tap = 0; tap < layout_.taps; ++tap) visit(layout_.at(output, input, tap));
      }
    }
  }

  const WeightLayout layout_;
};

}  // namespace

Parameter* Parameters::claim(NodeId node, std::string_view name, const WeightLayout& layout) {
  Parameter* parameter = FlatParameters::claim(node, name, std::make_shared<StoredWeights>(layout));
  if (parameter != nullptr && layout.group_outputs != 0) grouped_.push_back({parameter, layout});
  return parameter;
}

Parameter* Parameters::claim(NodeId node, std::string_view name) {
  const ParameterSpec* spec = spec_of(node, name);
  if (spec == nullptr) return nullptr;
  const std::int64_t values = spec->elements();
  return claim(node, name, {.inputs = values, .padded_inputs = padded(values)});
}

void Parameters::make_chunks() {
  for (const Parameter& parameter : all()) {
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

void Parameters::reserve_more(Arena& arena) {
  make_chunks();
  if (type_ != Type::kFloat) {
    narrow_ = arena.make_persistent(decaying() * size_of(type_));
    narrow_gradients_ = arena.make_persistent(decaying() * size_of(type_));
  }
  chunks_on_device_ = arena.make_persistent(chunks_.size() * sizeof(Chunk));
  tensors_on_device_ = arena.make_persistent(tensors_.size() * sizeof(LarsTensor));
  weight_sums_ = arena.make_persistent(chunks_.size() * sizeof(double));
  gradient_sums_ = arena.make_persistent(chunks_.size() * sizeof(double));
  factor_ = arena.make_persistent(sizeof(float));
}

void Parameters::bind_more(std::deque<Parameter>& parameters) {
  for (const Buffer* flat : {narrow_, narrow_gradients_}) {
    if (flat != nullptr) set_to_zero(*flat, flat->bytes);
  }
  to_device(chunks_on_device_->data, chunks_.data(), chunks_.size() * sizeof(Chunk));
  to_device(tensors_on_device_->data, tensors_.data(), tensors_.size() * sizeof(LarsTensor));
  for (Parameter& parameter : parameters) {
    if (narrow_ == nullptr || !parameter.origin.spec.decays) continue;
    const std::size_t at = parameter.offset * size_of(type_);
    parameter.weight.data = narrow_->data + at;
    parameter.gradient.data = narrow_gradients_->data + at;
  }
}

void Parameters::set_to_zero(const Buffer& buffer, std::size_t bytes) const {
  cuda::set_to_zero(buffer.data, bytes);
}

std::span<const float> Parameters::read(const Buffer& flat, std::size_t first, std::size_t floats,
                                        std::vector<float>& copy) const {
  copy.resize(floats);
  to_host(copy.data(), flat.as<float>() + first, floats * sizeof(float));
  return copy;
}

void Parameters::write(const Buffer& flat, std::size_t first, std::size_t floats,
                       const std::function<void(std::span<float>)>& fill) const {
  std::vector<float> values(floats);
  fill(values);
  to_device(flat.as<float>() + first, values.data(), floats * sizeof(float));
  wait();  // `values` is read until then
}

void Parameters::finish_gradients() const {
  const Stream stream = device().stream;
  if (narrow_gradients_ != nullptr)
    to_floats(type_, narrow_gradients_->data, last_gradients(),
              static_cast<std::int64_t>(decaying()), stream);
  for (const auto& [parameter, n] : grouped_)
    keep_groups(last_gradients() + parameter->offset, n.padded_outputs, n.taps, n.padded_inputs,
                n.group_outputs, n.inputs, stream);
}

void Parameters::add(float* sum, const float* values, std::size_t floats) const {
  accumulate(sum, values, static_cast<std::int64_t>(floats), device().stream);
}

void Parameters::clip() const {
  const Stream stream = device().stream;
  const auto chunks = static_cast<int>(chunks_.size());
  sums_of_squares(gradients(), chunks_on_device_->as<Chunk>(), chunks, gradient_sums_->as<double>(),
                  stream);
  clip_factor(gradient_sums_->as<double>(), chunks, recipe().clip_norm, factor_->as<float>(),
              stream);
  multiply_by(gradients(), factor_->as<float>(), static_cast<std::int64_t>(trainable()), stream);
}

void Parameters::update_by_lars(const UpdateNumbers* now) const {
  const Stream stream = device().stream;
  const auto chunks = static_cast<int>(chunks_.size());
  const auto* of = chunks_on_device_->as<Chunk>();
  sums_of_squares(weights(), of, chunks, weight_sums_->as<double>(), stream);
  sums_of_squares(gradients(), of, chunks, gradient_sums_->as<double>(), stream);
  update_lars({.decay = recipe().weight_decay,
               .trust = recipe().trust,
               .momentum = static_cast<float>(recipe().momentum),
               .weights = weights(),
               .velocity = moment(0),
               .gradients = gradients(),
               .narrow = narrow(),
               .decaying = static_cast<std::int64_t>(decaying()),
               .tensors = tensors_on_device_->as<LarsTensor>(),
               .count = static_cast<int>(tensors_.size()),
               .weight_sums = weight_sums_->as<double>(),
               .gradient_sums = gradient_sums_->as<double>(),
               .now = now},
              stream);
}

void Parameters::apply_rule(const UpdateNumbers* now) const {
  if (optimizer_of(recipe()) == OptimizerKind::kLars) return update_by_lars(now);
  cuda::update({.optimizer = optimizer_of(recipe()),
                .rule = {.decay = static_cast<float>(recipe().weight_decay),
                         .momentum = static_cast<float>(recipe().momentum),
                         .beta2 = static_cast<float>(recipe().beta2),
                         .epsilon = static_cast<float>(recipe().epsilon),
                         .nesterov = recipe().nesterov},
                .decaying = static_cast<std::int64_t>(decaying()),
                .count = static_cast<std::int64_t>(trainable()),
                .weights = weights(),
                .first = moment(0),
                .second = moment(1),
                .gradients = gradients(),
                .narrow = narrow(),
                .now = now},
               device().stream);
}

void Parameters::move_average(const UpdateNumbers* now) const {
  cuda::move_average(weights(), average(), static_cast<std::int64_t>(floats()), now,
                     device().stream);
}

void Parameters::swap(float* a, float* b, std::size_t floats) const {
  cuda::swap(a, b, static_cast<std::int64_t>(floats), device().stream);
}

void Parameters::weights_changed() const {
  if (narrow_ != nullptr)
    from_floats(type_, weights(), narrow_->data, static_cast<std::int64_t>(decaying()),
                device().stream);
}

}  // namespace detol::inline trainer::cuda

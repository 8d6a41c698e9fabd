#include "trainer/backends/cpu/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "trainer/backends/optimizer.h"

namespace detol::inline trainer::cpu {
namespace {

class NativeLayout final : public program::TensorLayout {
 public:
  NativeLayout(Desc plain, Desc native) : plain_(plain), native_(native) {}

  std::size_t floats() const override { return native_.get_size() / sizeof(float); }
  void to_plain(const float* stored, float* plain) const override {
    reorder_now(native_, stored, plain_, plain);
  }
  void from_plain(const float* plain, float* stored) const override {
    reorder_now(plain_, plain, native_, stored);
  }

 private:
  const Desc plain_, native_;
};

}  // namespace

Parameter* Parameters::claim(NodeId node, std::string_view name, const Desc& plain,
                             const Desc& native) {
  return FlatParameters::claim(node, name, std::make_shared<NativeLayout>(plain, native));
}

Parameter* Parameters::claim(NodeId node, std::string_view name) {
  const ParameterSpec* spec = spec_of(node, name);
  if (spec == nullptr) return nullptr;
  const Desc vector = floats_desc(spec->shape, Tag::a);
  return claim(node, name, vector, vector);
}

void Parameters::set_to_zero(const Buffer& buffer, std::size_t bytes) const {
  std::memset(buffer.data, 0, bytes);
}

std::span<const float> Parameters::read(const Buffer& flat, std::size_t first, std::size_t floats,
                                        std::vector<float>& /*copy*/) const {
  return {flat.as<float>() + first, floats};
}

void Parameters::write(const Buffer& flat, std::size_t first, std::size_t floats,
                       const std::function<void(std::span<float>)>& fill) const {
  fill({flat.as<float>() + first, floats});
}

void Parameters::add(float* sum, const float* values, std::size_t floats) const {
  kernels().add(sum, values, sum, floats);
}

void Parameters::swap(float* a, float* b, std::size_t floats) const {
  std::swap_ranges(a, a + floats, b);
}

void Parameters::clip() const {
  const std::span<float> all(gradients(), trainable());
  const auto factor = static_cast<float>(clip_factor(recipe(), std::sqrt(sum_of_squares(all))));
  if (factor != 1) kernels().multiply_all(factor, all.data(), all.size());
}

void Parameters::apply_rule(const UpdateNumbers* now) const {
  if (optimizer_of(recipe()) == OptimizerKind::kLars) return update_by_lars(*now);
  update_range(*now, 0, decaying(), now->lr, true);
  update_range(*now, decaying(), trainable() - decaying(), now->lr, false);
}

void Parameters::move_average(const UpdateNumbers* now) const {
  kernels().average(now->kept, weights(), average(), floats());
}

void Parameters::update_range(const UpdateNumbers& now, std::size_t first, std::size_t floats,
                              double lr, bool decays) const {
  float* const second = moment(1);
  const OptimizerRule<float> rule{.lr = static_cast<float>(lr),
                                  .decay = static_cast<float>(decays ? recipe().weight_decay : 0),
                                  .momentum = static_cast<float>(recipe().momentum),
                                  .beta2 = static_cast<float>(recipe().beta2),
                                  .epsilon = static_cast<float>(recipe().epsilon),
                                  .unbiased1 = now.unbiased1,
                                  .unbiased2 = now.unbiased2,
                                  .nesterov = recipe().nesterov};
  kernels().update(optimizer_of(recipe()), rule, weights() + first, gradients() + first,
                   moment(0) + first, second != nullptr ? second + first : nullptr, floats);
}

void Parameters::update_by_lars(const UpdateNumbers& now) const {
  for (const Parameter& parameter : all()) {
    if (!parameter.origin.spec.trainable) continue;
    const bool decays = parameter.origin.spec.decays;
    const std::span<const float> weights(parameter.master, parameter.floats);
    const std::span<const float> by(gradients() + parameter.offset, parameter.floats);
    const double rate = decays ? lars_rate(recipe(), now.lr, std::sqrt(sum_of_squares(weights)),
                                           std::sqrt(sum_of_squares(by)))
                               : now.lr;
    update_range(now, parameter.offset, parameter.floats, rate, decays);
  }
}

}  // namespace detol::inline trainer::cpu

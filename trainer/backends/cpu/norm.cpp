// Batch norm with its fused tail. Forward: one pass for the statistics, one for the output.
// Backward: one pass for the two sums of a channel, one for the input's gradient
//
//   dx = gamma / s (g - mean(g) - (x - m) / s^2 mean(g (x - m))),   s^2 = variance + epsilon,
//
// where g is the output's gradient, zero where ReLU's output is zero.
//
// If synchronised, the statistics and the two sums are of the images of all ranks, by one small sum
// over the group in each direction. Unused images of a run are left out, and have no gradient.

#include <algorithm>
#include <cmath>

#include "trainer/backends/cpu/lower.h"
#include "trainer/backends/norm_constants.h"

namespace detol::inline trainer::cpu {
namespace {

// Norm is shared by both directions; it lives as long as the candidate.
struct Norm : program::NormTensors {
  Extent extent;
  std::size_t channels = 0;  // padded
  double count = 0;          // values per channel, of all ranks if synchronised
  bool relu = false;
  Group* group = nullptr;  // if synchronised
  const Buffer *x = nullptr, *addend = nullptr, *y = nullptr;
  // Per channel, in the kernels' float format and in doubles.
  Buffer *mean = nullptr, *scale = nullptr, *mean_g = nullptr, *slope = nullptr;
  Buffer *wide_mean = nullptr, *variance = nullptr, *sum = nullptr, *moment = nullptr;
  Buffer* shared = nullptr;  // what the group sums up

  void reserve(Arena& arena, std::int64_t padded) {
    channels = static_cast<std::size_t>(padded);
    for (Buffer** buffer : {&mean, &scale, &mean_g, &slope})
      *buffer = arena.make_persistent(channels * sizeof(float));
    for (Buffer** buffer : {&wide_mean, &variance, &sum, &moment})
      *buffer = arena.make_persistent(channels * sizeof(double));
    if (group != nullptr) shared = arena.make_persistent((2 * channels + 1) * sizeof(double));
  }

  Extent used(const StepContext& context) const {
    Extent extent_of_shard = extent;
    extent_of_shard.images = context.shard.count;
    return extent_of_shard;
  }
};

NormForward call_of(const Norm& norm, const Extent& extent) {
  return {extent,
          norm.x->as<float>(),
          norm.addend != nullptr ? norm.addend->as<float>() : nullptr,
          norm.y->as<float>(),
          norm.mean->as<float>(),
          norm.scale->as<float>(),
          norm.beta->weight.as<float>(),
          norm.relu};
}

// Combines each rank's statistics into those of all ranks' images. Means are relative to the
// running mean, the same on every rank, so that a large mean costs the variance no digits.
void combine_statistics(Norm& norm) {
  const auto* origin = norm.running_mean->weight.as<float>();
  auto *mean = norm.wide_mean->as<double>(), *variance = norm.variance->as<double>();
  const std::span shared(norm.shared->as<double>(), 2 * norm.channels + 1);
  for (std::size_t c = 0; c < norm.channels; ++c) {
    const double distance = mean[c] - static_cast<double>(origin[c]);
    shared[c] = norm.count * distance;
    shared[norm.channels + c] = norm.count * (variance[c] + distance * distance);
  }
  shared.back() = norm.count;
  norm.group->sum(shared);
  norm.count = shared.back();
  for (std::size_t c = 0; c < norm.channels; ++c) {
    const double distance = shared[c] / norm.count;
    mean[c] = static_cast<double>(origin[c]) + distance;
    variance[c] = std::max(0.0, shared[norm.channels + c] / norm.count - distance * distance);
  }
}

void measure(Norm& norm, const StepContext& context) {
  const Extent extent = norm.used(context);
  auto *mean = norm.wide_mean->as<double>(), *variance = norm.variance->as<double>();
  kernels().norm_statistics(extent, norm.x->as<float>(), mean, variance);
  norm.count = static_cast<double>(extent.images * extent.positions());
  if (norm.group != nullptr) combine_statistics(norm);
  const double unbias = norm.count > 1 ? norm.count / (norm.count - 1) : 1;
  auto* running_mean = norm.running_mean->weight.as<float>();
  auto* running_var = norm.running_var->weight.as<float>();
  const auto move = [](float& statistic, double measured) {
    const double old = static_cast<double>(statistic);
    statistic = static_cast<float>(old + kStatisticsMomentum * (measured - old));
  };
  for (std::size_t c = 0; c < norm.channels; ++c) {
    move(running_mean[c], mean[c]);
    move(running_var[c], variance[c] * unbias);
  }
}

void recall(Norm& norm) {
  std::copy_n(norm.running_mean->weight.as<float>(), norm.channels, norm.wide_mean->as<double>());
  std::copy_n(norm.running_var->weight.as<float>(), norm.channels, norm.variance->as<double>());
}

void run_forward(Norm& norm, const StepContext& context) {
  context.training ? measure(norm, context) : recall(norm);
  const auto* gamma = norm.gamma->weight.as<float>();
  const auto *wide_mean = norm.wide_mean->as<double>(), *variance = norm.variance->as<double>();
  auto *mean = norm.mean->as<float>(), *scale = norm.scale->as<float>();
  for (std::size_t c = 0; c < norm.channels; ++c) {
    mean[c] = static_cast<float>(wide_mean[c]);
    scale[c] =
        static_cast<float>(static_cast<double>(gamma[c]) / std::sqrt(variance[c] + kNormEpsilon));
  }
  kernels().norm_forward(call_of(norm, norm.extent));
}

// Zeroes the gradient of the images behind those of the shard.
void clear_unused(const Norm& norm, const StepContext& context, const Buffer* gradient) {
  const std::ptrdiff_t image = norm.extent.blocks * norm.extent.positions() * machine().lanes();
  std::fill(gradient->as<float>() + context.shard.count * image,
            gradient->as<float>() + norm.extent.images * image, 0.0f);
}

void combine_sums(Norm& norm) {
  auto *sum = norm.sum->as<double>(), *moment = norm.moment->as<double>();
  const std::span shared(norm.shared->as<double>(), 2 * norm.channels);
  std::copy_n(moment, norm.channels, std::copy_n(sum, norm.channels, shared.begin()));
  norm.group->sum(shared);
  std::copy_n(shared.begin(), norm.channels, sum);
  std::copy_n(shared.begin() + std::ssize(shared) / 2, norm.channels, moment);
}

// Computes the parameters' gradients of this rank alone: the group adds up all gradients later.
void run_sums(Norm& norm, const StepContext& context, const Buffer* term, const Buffer* other,
              const Buffer* g) {
  auto *sum = norm.sum->as<double>(), *moment = norm.moment->as<double>();
  const auto* variance = norm.variance->as<double>();
  kernels().norm_sums({call_of(norm, norm.used(context)), term->as<float>(),
                       other != nullptr ? other->as<float>() : nullptr,
                       g != nullptr ? g->as<float>() : nullptr, sum, moment});
  if (g != nullptr) clear_unused(norm, context, g);
  auto* gamma_gradient = norm.gamma->gradient.as<float>();
  auto* beta_gradient = norm.beta->gradient.as<float>();
  for (std::size_t c = 0; c < norm.channels; ++c) {
    gamma_gradient[c] = static_cast<float>(moment[c] / std::sqrt(variance[c] + kNormEpsilon));
    beta_gradient[c] = static_cast<float>(sum[c]);
  }
  if (norm.group != nullptr) combine_sums(norm);
  auto *mean_g = norm.mean_g->as<float>(), *slope = norm.slope->as<float>();
  for (std::size_t c = 0; c < norm.channels; ++c) {
    mean_g[c] = static_cast<float>(sum[c] / norm.count);
    slope[c] = static_cast<float>(moment[c] / ((variance[c] + kNormEpsilon) * norm.count));
  }
}

void run_backward(const Norm& norm, const StepContext& context, const Buffer* g, bool g_is_masked,
                  const Buffer* dx) {
  NormForward forward = call_of(norm, norm.used(context));
  forward.relu = norm.relu && !g_is_masked;
  kernels().norm_backward({forward, g->as<float>(), norm.mean_g->as<float>(),
                           norm.slope->as<float>(), dx->as<float>()});
  clear_unused(norm, context, dx);
}

}  // namespace

Result<void> lower_norm(Builder& b, const Unit& unit) {
  Value& x = b.input(unit, kBlocked);
  Value* addend = unit.addend ? &b.value(*unit.addend, kBlocked) : nullptr;
  Value& y = b.make_value(unit.output, kBlocked, true);
  auto norm = std::make_shared<Norm>();
  norm->extent = b.extent(x);
  norm->group = b.syncs_norms() ? &b.group() : nullptr;
  norm->reserve(b.arena(), machine().padded(x.shape.channels));
  norm->relu = unit.relu;
  norm->x = x.data;
  norm->addend = addend != nullptr ? addend->data : nullptr;
  norm->y = y.data;
  static_cast<program::NormTensors&>(*norm) = claim_norm(b.parameters(), unit.node);
  std::vector<Buffer*> uses = {x.data, y.data};
  if (addend != nullptr) uses.push_back(addend->data);
  b.step(uses, [norm](const StepContext& context) { run_forward(*norm, context); });
  const auto sums = [&b, norm](const std::vector<Buffer*>& touched, const Buffer* term,
                               const Buffer* other, const Buffer* masked) {
    b.step(touched,
           [=](const StepContext& context) { run_sums(*norm, context, term, other, masked); });
  };
  const auto input = [&b, norm, x = x.data](Buffer* g, bool is_masked, Buffer* dx) {
    b.step({g, x, dx},
           [=](const StepContext& context) { run_backward(*norm, context, g, is_masked, dx); });
  };
  b.on_norm_gradients({&x, addend, &y, unit.relu, sums, input});
  return {};
}

}  // namespace detol::inline trainer::cpu

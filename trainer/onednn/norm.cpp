// Batch norm with its fused tail. Forward: one pass for the statistics, one for the output.
// Backward: one pass for the two sums of a channel, one for the input's gradient
//
//   dx = gamma / s (g - mean(g) - (x - m) / s^2 mean(g (x - m))),   s^2 = variance + epsilon,
//
// where g is the output's gradient where ReLU let it through.

#include <cmath>

#include "trainer/onednn/lower.h"

namespace detol::onednn {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr double kStatisticsMomentum = 0.1;

// What both directions need; lives as long as the candidate.
struct Norm {
  Extent extent;
  std::size_t channels = 0;  // padded
  double count = 0;          // values per channel
  bool relu = false;
  const Buffer *x = nullptr, *addend = nullptr, *y = nullptr;
  const Parameter *gamma = nullptr, *beta = nullptr, *running_mean = nullptr,
                  *running_var = nullptr;
  // Per channel, as the kernels want them.
  Buffer *mean = nullptr, *scale = nullptr, *mean_g = nullptr, *slope = nullptr;
  std::vector<double> wide_mean, variance, sum, moment;

  void reserve(Arena& arena, std::int64_t padded) {
    channels = static_cast<std::size_t>(padded);
    for (Buffer** buffer : {&mean, &scale, &mean_g, &slope}) {
      *buffer = arena.make_persistent(channels * sizeof(float));
    }
    for (auto* vector : {&wide_mean, &variance, &sum, &moment}) vector->resize(channels);
  }
};

NormForward call_of(const Norm& norm) {
  return {norm.extent,
          norm.x->as<float>(),
          norm.addend != nullptr ? norm.addend->as<float>() : nullptr,
          norm.y->as<float>(),
          norm.mean->as<float>(),
          norm.scale->as<float>(),
          norm.beta->weight.as<float>(),
          norm.relu};
}

void measure(Norm& norm) {
  machine().kernels->norm_statistics(norm.extent, norm.x->as<float>(), norm.wide_mean.data(),
                                     norm.variance.data());
  const double unbias = norm.count > 1 ? norm.count / (norm.count - 1) : 1;
  auto* running_mean = norm.running_mean->weight.as<float>();
  auto* running_var = norm.running_var->weight.as<float>();
  const auto move = [](float& statistic, double measured) {
    const double old = static_cast<double>(statistic);
    statistic = static_cast<float>(old + kStatisticsMomentum * (measured - old));
  };
  for (std::size_t c = 0; c < norm.channels; ++c) {
    move(running_mean[c], norm.wide_mean[c]);
    move(running_var[c], norm.variance[c] * unbias);
  }
}

void recall(Norm& norm) {
  for (std::size_t c = 0; c < norm.channels; ++c) {
    norm.wide_mean[c] = static_cast<double>(norm.running_mean->weight.as<float>()[c]);
    norm.variance[c] = static_cast<double>(norm.running_var->weight.as<float>()[c]);
  }
}

void run_forward(Norm& norm, bool training) {
  training ? measure(norm) : recall(norm);
  const auto* gamma = norm.gamma->weight.as<float>();
  auto *mean = norm.mean->as<float>(), *scale = norm.scale->as<float>();
  for (std::size_t c = 0; c < norm.channels; ++c) {
    mean[c] = static_cast<float>(norm.wide_mean[c]);
    scale[c] =
        static_cast<float>(static_cast<double>(gamma[c]) / std::sqrt(norm.variance[c] + kEpsilon));
  }
  machine().kernels->norm_forward(call_of(norm));
}

void run_sums(Norm& norm, const Buffer* term, const Buffer* other, const Buffer* g) {
  machine().kernels->norm_sums(
      {call_of(norm), term->as<float>(), other != nullptr ? other->as<float>() : nullptr,
       g != nullptr ? g->as<float>() : nullptr, norm.sum.data(), norm.moment.data()});
  auto* gamma_gradient = norm.gamma->gradient.as<float>();
  auto* beta_gradient = norm.beta->gradient.as<float>();
  auto *mean_g = norm.mean_g->as<float>(), *slope = norm.slope->as<float>();
  for (std::size_t c = 0; c < norm.channels; ++c) {
    const double square = norm.variance[c] + kEpsilon;
    gamma_gradient[c] = static_cast<float>(norm.moment[c] / std::sqrt(square));
    beta_gradient[c] = static_cast<float>(norm.sum[c]);
    mean_g[c] = static_cast<float>(norm.sum[c] / norm.count);
    slope[c] = static_cast<float>(norm.moment[c] / (square * norm.count));
  }
}

void run_backward(const Norm& norm, const Buffer* g, bool g_is_masked, const Buffer* dx) {
  NormForward forward = call_of(norm);
  forward.relu = norm.relu && !g_is_masked;
  machine().kernels->norm_backward({forward, g->as<float>(), norm.mean_g->as<float>(),
                                    norm.slope->as<float>(), dx->as<float>()});
}

// The masked gradient is written only if somebody else reads it, or if it is a sum.
void lower_norm_backward(Builder& b, const std::shared_ptr<Norm>& norm, Value& x, Value* addend,
                         Value& y) {
  const std::vector<Buffer*> terms = b.gradient_terms(y, 2);
  Buffer* other = terms.size() > 1 ? terms[1] : nullptr;
  const bool written = other != nullptr || (addend != nullptr && norm->relu);
  Buffer* g = written ? b.arena().make_over(terms[0]) : terms[0];
  std::vector<Buffer*> uses = terms;
  uses.insert(uses.end(), {x.data, g});
  if (addend != nullptr && norm->relu) uses.push_back(y.data);
  b.step(uses, [=, term = terms[0]](const Turn&) {
    run_sums(*norm, term, other, written ? g : nullptr);
  });
  if (addend != nullptr) b.pass_gradient(*addend, g);
  if (!x.needs_gradient) return;
  Buffer* dx = b.arena().make_over(g);
  b.pass_gradient(x, dx);
  b.step({g, x.data, dx}, [=](const Turn&) { run_backward(*norm, g, written, dx); });
}

}  // namespace

Result<void> lower_norm(Builder& b, const Unit& unit) {
  Value& x = b.value(b.node(unit.node).inputs[0], Layout::kBlocked);
  Value* addend = unit.addend ? &b.value(*unit.addend, Layout::kBlocked) : nullptr;
  Value& y = b.make_value(unit.output, Layout::kBlocked, true);
  auto norm = std::make_shared<Norm>();
  norm->extent = b.extent(x);
  norm->reserve(b.arena(), machine().padded(x.shape.channels));
  norm->count = static_cast<double>(b.batch() * x.shape.height * x.shape.width);
  norm->relu = unit.relu;
  norm->x = x.data;
  norm->addend = addend != nullptr ? addend->data : nullptr;
  norm->y = y.data;
  norm->gamma = b.parameters().claim(unit.node, "gamma");
  norm->beta = b.parameters().claim(unit.node, "beta");
  norm->running_mean = b.parameters().claim(unit.node, "running_mean");
  norm->running_var = b.parameters().claim(unit.node, "running_var");
  std::vector<Buffer*> uses = {x.data, y.data};
  if (addend != nullptr) uses.push_back(addend->data);
  b.step(uses, [norm](const Turn& turn) { run_forward(*norm, turn.training); });
  b.on_backward([&b, norm, &x, addend, &y] { lower_norm_backward(b, norm, x, addend, y); });
  return {};
}

}  // namespace detol::onednn

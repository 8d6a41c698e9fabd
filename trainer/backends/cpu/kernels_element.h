#pragma once

// Kernels that work element by element, or with one value per image and channel.

#include "trainer/backends/cpu/kernels.h"
#include "trainer/backends/cpu/kernels_activation.h"
#include "trainer/backends/cpu/lanes.h"

namespace detol::inline trainer::cpu {
namespace {

Lanes sum_of(const float* x, std::ptrdiff_t count, std::ptrdiff_t step = kLanes) {
  Lanes a{}, b{}, c{}, d{};
  std::ptrdiff_t i = 0;
  for (; i + 4 <= count; i += 4, x += 4 * step) {
    a += load(x);
    b += load(x + step);
    c += load(x + 2 * step);
    d += load(x + 3 * step);
  }
  for (; i < count; ++i, x += step) a += load(x);
  return (a + b) + (c + d);
}

// Sums over images and positions, per channel.
void channel_sums(const Extent& e, const float* g, float* sums) {
  for (std::ptrdiff_t block = 0; block < e.blocks; ++block) {
    Lanes sum{};
    for (std::ptrdiff_t n = 0; n < e.images; ++n)
      sum += sum_of(g + (n * e.blocks + block) * e.positions() * kLanes, e.positions());
    store(sums + block * kLanes, sum);
  }
}

void add(const float* a, const float* b, float* y, std::size_t floats) {
  for (std::size_t i = 0; i < floats; i += kLanes) store(y + i, load(a + i) + load(b + i));
}

void multiply(const float* a, const float* b, float* y, std::size_t floats) {
  for (std::size_t i = 0; i < floats; i += kLanes) store(y + i, load(a + i) * load(b + i));
}

template <OptimizerKind kKind>
void update_by(const OptimizerRule<float>& rule, float* w, const float* g, float* first,
               float* second, std::size_t floats) {
  const OptimizerRule<Lanes> r{all(rule.lr),        all(rule.decay),   all(rule.momentum),
                               all(rule.beta2),     all(rule.epsilon), all(rule.unbiased1),
                               all(rule.unbiased2), rule.nesterov};
  constexpr bool kHasSecond = moments_of(kKind) > 1;
  for (std::size_t i = 0; i < floats; i += kLanes) {
    Lanes weight = load(w + i), a = load(first + i), b = kHasSecond ? load(second + i) : Lanes{};
    update_weight<kKind, Lanes, ElementaryOfLanes>(r, load(g + i), weight, a, b);
    store(w + i, weight);
    store(first + i, a);
    if (kHasSecond) store(second + i, b);
  }
}

void update(OptimizerKind kind, const OptimizerRule<float>& rule, float* w, const float* g,
            float* first, float* second, std::size_t floats) {
  with_optimizer(
      kind, [&]<OptimizerKind kKind>() { update_by<kKind>(rule, w, g, first, second, floats); });
}

void multiply_all(float factor, float* x, std::size_t floats) {
  for (std::size_t i = 0; i < floats; i += kLanes) store(x + i, load(x + i) * factor);
}

void average(float kept, const float* w, float* a, std::size_t floats) {
  const float moves = 1 - kept;
  for (std::size_t i = 0; i < floats; i += kLanes) {
    store(a + i, load(a + i) * kept + load(w + i) * moves);
  }
}

void scale(const Extent& e, const float* x, const float* s, float* y) {
  for (std::ptrdiff_t i = 0; i < e.images * e.blocks; ++i) {
    const Lanes factor = load(s + i * kLanes);
    for (std::ptrdiff_t p = i * e.positions(); p < (i + 1) * e.positions(); ++p) {
      store(y + p * kLanes, load(x + p * kLanes) * factor);
    }
  }
}

void scale_gradient(const Extent& e, const float* g, const float* x, float* ds) {
  for (std::ptrdiff_t i = 0; i < e.images * e.blocks; ++i) {
    Lanes sum{};
    for (std::ptrdiff_t p = i * e.positions(); p < (i + 1) * e.positions(); ++p) {
      sum += load(g + p * kLanes) * load(x + p * kLanes);
    }
    store(ds + i * kLanes, sum);
  }
}

void global_pool(const Extent& e, const float* x, float* y) {
  const float share = 1.0f / static_cast<float>(e.positions());
  for (std::ptrdiff_t i = 0; i < e.images * e.blocks; ++i) {
    store(y + i * kLanes, sum_of(x + i * e.positions() * kLanes, e.positions()) * share);
  }
}

void global_pool_backward(const Extent& e, const float* g, float* dx) {
  const float share = 1.0f / static_cast<float>(e.positions());
  for (std::ptrdiff_t i = 0; i < e.images * e.blocks; ++i) {
    const Lanes part = load(g + i * kLanes) * share;
    for (std::ptrdiff_t p = i * e.positions(); p < (i + 1) * e.positions(); ++p) {
      store(dx + p * kLanes, part);
    }
  }
}

}  // namespace
}  // namespace detol::inline trainer::cpu

#pragma once

// Kernels that work element by element, or with one value per image and channel.

#include "trainer/backends/cpu/kernels.h"
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

void sgd(const UpdateStep& s, float* w, const float* g, float* velocity, std::size_t floats) {
  const Lanes momentum = all(s.momentum), decay = all(s.decay), lr = all(s.lr);
  for (std::size_t i = 0; i < floats; i += kLanes) {
    const Lanes weight = load(w + i);
    const Lanes gradient = load(g + i) + decay * weight;
    const Lanes v = momentum * load(velocity + i) + gradient;
    store(velocity + i, v);
    store(w + i, weight - lr * (s.nesterov ? gradient + momentum * v : v));
  }
}

void adamw(const UpdateStep& s, float* w, const float* g, float* first, float* second,
           std::size_t floats) {
  for (std::size_t i = 0; i < floats; ++i) {
    const float m = s.momentum * first[i] + (1 - s.momentum) * g[i];
    const float v = s.beta2 * second[i] + (1 - s.beta2) * g[i] * g[i];
    first[i] = m;
    second[i] = v;
    const float deviation = __builtin_sqrtf(v / s.unbiased2) + s.epsilon;
    w[i] = w[i] - s.lr * s.decay * w[i] - s.lr * (m / s.unbiased1) / deviation;
  }
}

void adam(const UpdateStep& s, float* w, const float* g, float* first, float* second,
          std::size_t floats) {
  for (std::size_t i = 0; i < floats; ++i) {
    const float gradient = g[i] + s.decay * w[i];
    first[i] = s.momentum * first[i] + (1 - s.momentum) * gradient;
    second[i] = s.beta2 * second[i] + (1 - s.beta2) * gradient * gradient;
    const float deviation = __builtin_sqrtf(second[i] / s.unbiased2) + s.epsilon;
    w[i] -= s.lr * (first[i] / s.unbiased1) / deviation;
  }
}

void rmsprop(const UpdateStep& s, float* w, const float* g, float* square, float* velocity,
             std::size_t floats) {
  for (std::size_t i = 0; i < floats; ++i) {
    const float gradient = g[i] + s.decay * w[i];
    square[i] = s.beta2 * square[i] + (1 - s.beta2) * gradient * gradient;
    velocity[i] = s.momentum * velocity[i] + gradient / (__builtin_sqrtf(square[i]) + s.epsilon);
    w[i] -= s.lr * velocity[i];
  }
}

void update(const UpdateStep& s, float* w, const float* g, float* first, float* second,
            std::size_t floats) {
  switch (s.optimizer) {
    case OptimizerKind::kSgd:
      return sgd(s, w, g, first, floats);
    case OptimizerKind::kAdamw:
      return adamw(s, w, g, first, second, floats);
    case OptimizerKind::kRmsprop:
      return rmsprop(s, w, g, first, second, floats);
    case OptimizerKind::kLars:
      return;  // see lars() below: each tensor has its own rate
    case OptimizerKind::kAdam:
      return adam(s, w, g, first, second, floats);
  }
}

void lars(const LarsStep& s, float* w, const float* g, float* velocity, std::size_t floats) {
  const Lanes momentum = all(s.momentum), decay = all(s.decay), rate = all(s.rate);
  for (std::size_t i = 0; i < floats; i += kLanes) {
    const Lanes weight = load(w + i);
    const Lanes v = momentum * load(velocity + i) + rate * (load(g + i) + decay * weight);
    store(velocity + i, v);
    store(w + i, weight - v);
  }
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

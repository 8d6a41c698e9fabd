#pragma once

// The first convolution: reads a plain image of up to three channels and writes blocks of channels.
//
// A register holds channels of the output, so a tap is one broadcast pixel times a register of
// weights, and a block of outputs stays in registers over all taps. Each image is first copied
// with zeros around it, so that no tap needs a bounds check. Weights are blocks of outputs x taps x
// lanes, taps in the order (row, column, channel).

#include "trainer/backends/cpu/kernels.h"
#include "trainer/backends/cpu/kernels_element.h"
#include "trainer/backends/cpu/kernels_window.h"
#include "trainer/backends/cpu/lanes.h"

namespace detol::inline trainer::cpu {
namespace {

constexpr std::ptrdiff_t kPixels = kLanes == 16 ? 12 : 6;  // outputs in a block, of 2 registers

// ImagePlan stores the offsets that the loops of one convolution need.
struct ImagePlan {
  std::ptrdiff_t row = 0;                  // floats of a padded row
  std::ptrdiff_t taps = 0;                 // rows x columns x channels
  std::ptrdiff_t offsets[kMostImageTaps];  // of each tap from the window's corner
};

inline ImagePlan plan_of(const ImageWindow& w) {
  ImagePlan plan;
  plan.row = w.width + 2 * w.beside;
  const std::ptrdiff_t plane = (w.height + 2 * w.above) * plan.row;
  for (std::ptrdiff_t a = 0; a < w.kernel_height; ++a) {
    for (std::ptrdiff_t b = 0; b < w.kernel_width; ++b) {
      for (std::ptrdiff_t c = 0; c < w.channels; ++c)
        plan.offsets[plan.taps++] = c * plane + a * plan.row + b;
    }
  }
  return plan;
}

void pad_image(const ImageWindow& w, const ImagePlan& plan, const float* image, float* padded) {
  const std::ptrdiff_t plane = (w.height + 2 * w.above) * plan.row;
  __builtin_memset(padded, 0, static_cast<std::size_t>(w.channels * plane) * sizeof(float));
  for (std::ptrdiff_t c = 0; c < w.channels; ++c) {
    for (std::ptrdiff_t y = 0; y < w.height; ++y) {
      __builtin_memcpy(padded + c * plane + (y + w.above) * plan.row + w.beside,
                       image + (c * w.height + y) * w.width,
                       static_cast<std::size_t>(w.width) * sizeof(float));
    }
  }
}

// Computes kCount neighbouring outputs of a row, of kColumns registers of channels, `plane` floats
// apart.
template <int kStride, int kCount, int kColumns>
inline __attribute__((always_inline)) void image_block(const ImagePlan& plan, const float* from,
                                                       const float* w, const float* bias, float* y,
                                                       std::ptrdiff_t plane) {
  Lanes sum[kCount][kColumns];
  for (int p = 0; p < kCount; ++p) {
    for (int c = 0; c < kColumns; ++c)
      sum[p][c] = bias != nullptr ? load(bias + c * kLanes) : Lanes{};
  }
  for (std::ptrdiff_t t = 0; t < plan.taps; ++t, w += kLanes) {
    Lanes right[kColumns];
    for (int c = 0; c < kColumns; ++c) right[c] = load(w + c * plan.taps * kLanes);
    const float* pixels = from + plan.offsets[t];
    for (int p = 0; p < kCount; ++p) {
      const Lanes left = all(pixels[p * kStride]);
      for (int c = 0; c < kColumns; ++c) sum[p][c] = multiply_add(left, right[c], sum[p][c]);
    }
  }
  for (int p = 0; p < kCount; ++p) {
    for (int c = 0; c < kColumns; ++c) store(y + c * plane + p * kLanes, sum[p][c]);
  }
}

template <int kStride, int kColumns>
__attribute__((noinline)) void image_rows(const ImageWindow& w, const ImagePlan& plan,
                                          const float* padded, const float* weights,
                                          const float* bias, float* y) {
  const std::ptrdiff_t plane = w.out.positions() * kLanes;
  for (std::ptrdiff_t row = 0; row < w.out.height; ++row) {
    const float* from = padded + row * kStride * plan.row;
    float* to = y + row * w.out.width * kLanes;
    std::ptrdiff_t x = 0;
    for (; x + kPixels <= w.out.width; x += kPixels)
      image_block<kStride, kPixels, kColumns>(plan, from + x * kStride, weights, bias,
                                              to + x * kLanes, plane);
    for (; x < w.out.width; ++x)
      image_block<kStride, 1, kColumns>(plan, from + x * kStride, weights, bias, to + x * kLanes,
                                        plane);
  }
}

template <int kStride>
void image_forward(const ImageWindow& w, const float* x, const float* weights, const float* bias,
                   float* y, float* padded) {
  const ImagePlan plan = plan_of(w);
  const std::ptrdiff_t plane = w.out.positions() * kLanes;
  for (std::ptrdiff_t n = 0; n < w.out.images; ++n) {
    pad_image(w, plan, x + n * w.channels * w.height * w.width, padded);
    for (std::ptrdiff_t block = 0; block < w.out.blocks;) {
      const float* offset = bias != nullptr ? bias + block * kLanes : nullptr;
      float* to = y + (n * w.out.blocks + block) * plane;
      if (block + 2 <= w.out.blocks) {
        image_rows<kStride, 2>(w, plan, padded, weights + block * plan.taps * kLanes, offset, to);
        block += 2;
      } else {
        image_rows<kStride, 1>(w, plan, padded, weights + block * plan.taps * kLanes, offset, to);
        block += 1;
      }
    }
  }
}

void image(const ImageWindow& w, const float* x, const float* weights, const float* bias, float* y,
           float* scratch) {
  w.stride == 1 ? image_forward<1>(w, x, weights, bias, y, scratch)
                : image_forward<2>(w, x, weights, bias, y, scratch);
}

// Adds one image's part of the gradient of kCount taps, kColumns registers of channels each.
template <int kStride, int kCount, int kColumns>
__attribute__((noinline)) void image_taps(const ImageWindow& w, const ImagePlan& plan,
                                          const float* padded, const std::ptrdiff_t* offsets,
                                          const float* g, float* dw) {
  const std::ptrdiff_t plane = w.out.positions() * kLanes;
  Lanes sum[kCount][kColumns] = {};
  for (std::ptrdiff_t row = 0; row < w.out.height; ++row, padded += kStride * plan.row) {
    const float* pixels[kCount];
    for (int t = 0; t < kCount; ++t) pixels[t] = padded + offsets[t];
    for (std::ptrdiff_t x = 0; x < w.out.width; ++x, g += kLanes) {
      Lanes right[kColumns];
      for (int c = 0; c < kColumns; ++c) right[c] = load(g + c * plane);
      for (int t = 0; t < kCount; ++t) {
        const Lanes left = all(pixels[t][x * kStride]);
        for (int c = 0; c < kColumns; ++c) sum[t][c] = multiply_add(left, right[c], sum[t][c]);
      }
    }
  }
  for (int t = 0; t < kCount; ++t) {
    for (int c = 0; c < kColumns; ++c) accumulate(dw + (c * plan.taps + t) * kLanes, sum[t][c]);
  }
}

template <int kStride, int kColumns>
void image_all_taps(const ImageWindow& w, const ImagePlan& plan, const float* padded,
                    const float* g, float* dw) {
  std::ptrdiff_t t = 0;
  for (; t + 6 <= plan.taps; t += 6)
    image_taps<kStride, 6, kColumns>(w, plan, padded, plan.offsets + t, g, dw + t * kLanes);
  for (; t + 3 <= plan.taps; t += 3)
    image_taps<kStride, 3, kColumns>(w, plan, padded, plan.offsets + t, g, dw + t * kLanes);
  for (; t < plan.taps; ++t)
    image_taps<kStride, 1, kColumns>(w, plan, padded, plan.offsets + t, g, dw + t * kLanes);
}

template <int kStride>
void image_gradient(const ImageWindow& w, const float* x, const float* g, float* dw,
                    float* padded) {
  const ImagePlan plan = plan_of(w);
  const std::ptrdiff_t plane = w.out.positions() * kLanes, weights = plan.taps * kLanes;
  __builtin_memset(dw, 0, static_cast<std::size_t>(w.out.blocks * weights) * sizeof(float));
  for (std::ptrdiff_t n = 0; n < w.out.images; ++n) {
    pad_image(w, plan, x + n * w.channels * w.height * w.width, padded);
    std::ptrdiff_t block = 0;
    for (; block + 2 <= w.out.blocks; block += 2)
      image_all_taps<kStride, 2>(w, plan, padded, g + (n * w.out.blocks + block) * plane,
                                 dw + block * weights);
    if (block < w.out.blocks)
      image_all_taps<kStride, 1>(w, plan, padded, g + (n * w.out.blocks + block) * plane,
                                 dw + block * weights);
  }
}

void image_weights(const ImageWindow& w, const float* x, const float* g, float* dw, float* dbias,
                   float* scratch) {
  w.stride == 1 ? image_gradient<1>(w, x, g, dw, scratch) : image_gradient<2>(w, x, g, dw, scratch);
  if (dbias != nullptr) channel_sums(w.out, g, dbias);
}

}  // namespace
}  // namespace detol::inline trainer::cpu

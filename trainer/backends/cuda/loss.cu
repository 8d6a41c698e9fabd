// The losses of trainer/backends/loss.h, one warp per image, also in double.

#include "trainer/backends/cuda/kernel.cuh"
#include "trainer/backends/loss_functions.h"

namespace detol::inline trainer::cuda {
namespace {

constexpr int kRowsOfABlock = kThreads / kWarp;
constexpr unsigned kAll = 0xffffffffU;

struct Largest {
  double value;
  std::int32_t at;  // the lowest index of equal values
};

__device__ Largest larger(const Largest& a, const Largest& b) {
  if (a.value > b.value) return a;
  if (b.value > a.value) return b;
  return a.at < b.at ? a : b;
}

__device__ Largest largest_of(const LossCall& call, const float* row, int lane) {
  Largest best{-INFINITY, 0x7fffffff};
  for (std::int64_t k = lane; k < call.outputs; k += kWarp)
    best = larger(best, {static_cast<double>(row[k]), static_cast<std::int32_t>(k)});
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const Largest other{__shfl_xor_sync(kAll, best.value, offset),
                        __shfl_xor_sync(kAll, best.at, offset)};
    best = larger(best, other);
  }
  return best;
}

// Returns the label of an image, or the class of its largest target.
__device__ std::int32_t label_of(const LossCall& call, std::int64_t image, int lane) {
  if (call.kind != LossKind::kSoftCrossEntropy) return call.labels[image];
  return largest_of(call, call.targets + image * call.outputs, lane).at;
}

template <typename T>
__device__ void write(const LossCall& call, std::int64_t image, std::int64_t k, double slope) {
  if (call.gradient != nullptr)
    static_cast<T*>(call.gradient)[image * call.width + k] = rounded<T>(static_cast<float>(slope));
}

// Returns the sum of the targets of an image.
__device__ double sum_of_targets(const LossCall& call, std::int64_t image, int lane) {
  if (call.kind != LossKind::kSoftCrossEntropy) return 1;
  double sum = 0;
  for (std::int64_t k = lane; k < call.outputs; k += kWarp)
    sum += static_cast<double>(call.targets[image * call.outputs + k]);
  return sum_of_warp(sum);
}

// Returns the target of class k.
__device__ double wanted(const LossCall& call, std::int64_t image, std::int64_t k,
                         const Smoothing& by) {
  if (call.kind == LossKind::kSoftCrossEntropy)
    return by.most * static_cast<double>(call.targets[image * call.outputs + k]) + by.spread;
  const MixedLabel mix = call.mixes == nullptr ? MixedLabel{} : call.mixes[image];
  return target_of(k, call.labels[image], mix, by);
}

template <typename T>
__device__ void cross_entropy(const LossCall& call, std::int64_t image, int lane) {
  const float* row = call.logits + image * call.width;
  const Largest largest = largest_of(call, row, lane);
  double sum = 0;
  for (std::int64_t k = lane; k < call.outputs; k += kWarp)
    sum += exp(static_cast<double>(row[k]) - largest.value);
  sum = sum_of_warp(sum);
  const double log_sum = largest.value + log(sum);
  const double all = sum_of_targets(call, image, lane);
  const Smoothing by = smoothing_of(call.smoothing, all, call.outputs);
  double loss = 0;
  for (std::int64_t k = lane; k < call.outputs; k += kWarp) {
    const auto logit = static_cast<double>(row[k]);
    const double weight = wanted(call, image, k, by);
    if (weight != 0) loss += weight * (log_sum - logit);
    write<T>(call, image, k, (all * exp(logit - largest.value) / sum - weight) / call.batch);
  }
  loss = sum_of_warp(loss);
  const std::int32_t label = label_of(call, image, lane);
  if (lane != 0) return;
  call.losses[image] = loss / call.batch;
  call.rights[image] = largest.at == label ? 1 : 0;
}

template <typename T>
__device__ void mean_of_terms(const LossCall& call, std::int64_t image, int lane) {
  const double terms = call.batch * static_cast<double>(call.outputs);
  double loss = 0, right = 0;
  for (std::int64_t k = lane; k < call.outputs; k += kWarp) {
    const LossTerm term =
        term_of(call.kind, call.smoothing, static_cast<double>(call.logits[image * call.width + k]),
                static_cast<double>(call.targets[image * call.outputs + k]));
    loss += term.loss;
    right += term.is_right ? 1 : 0;
    write<T>(call, image, k, term.slope / terms);
  }
  loss = sum_of_warp(loss);
  right = sum_of_warp(right);
  if (lane != 0) return;
  call.losses[image] = loss / terms;
  call.rights[image] = static_cast<std::int32_t>(right);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) rows_kernel(LossCall call) {
  const int lane = threadIdx.x % kWarp;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kRowsOfABlock;
  std::int64_t image = static_cast<std::int64_t>(blockIdx.x) * kRowsOfABlock + threadIdx.x / kWarp;
  for (; image < call.images_held; image += stride) {
    const std::int64_t first = image < call.images ? call.outputs : 0;
    for (std::int64_t k = first + lane; k < call.width; k += kWarp) write<T>(call, image, k, 0);
    if (image >= call.images) continue;
    if (call.kind == LossKind::kCrossEntropy || call.kind == LossKind::kSoftCrossEntropy)
      cross_entropy<T>(call, image, lane);
    else
      mean_of_terms<T>(call, image, lane);
  }
}

// Adds up the losses of all images, in one block and so in a fixed order.
__global__ void __launch_bounds__(kThreads) sum_kernel(LossCall call) {
  __shared__ double losses[kThreads];
  __shared__ std::int64_t rights[kThreads];
  const unsigned own = threadIdx.x;
  double loss = 0;
  std::int64_t right = 0;
  for (std::int64_t i = own; i < call.images; i += kThreads) {
    loss += call.losses[i];
    right += call.rights[i];
  }
  losses[own] = loss;
  rights[own] = right;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (own >= half) continue;
    losses[own] += losses[own + half];
    rights[own] += rights[own + half];
  }
  if (own != 0) return;
  const BatchResult before = call.adds ? *call.total : BatchResult{};
  const BatchResult after{before.loss + losses[0], before.correct + rights[0]};
  *call.total = after;
  call.results[call.now == nullptr ? 0 : call.now->result] = after;
}

}  // namespace

void loss(const LossCall& call, Stream stream) {
  const std::int64_t most = 8 * static_cast<std::int64_t>(device().multiprocessors);
  const std::int64_t blocks = (call.images_held + kRowsOfABlock - 1) / kRowsOfABlock;
  const dim3 grid(static_cast<unsigned>(std::min(blocks, most)));
  with_type(call.type,
            [&]<typename T>(T) { launch(stream, grid, kThreads, rows_kernel<T>, call); });
  launch(stream, dim3(1), kThreads, sum_kernel, call);
}

}  // namespace detol::inline trainer::cuda

// The optimiser's step (trainer/backends/optimizer.h) over flat buffers: one pass reads and writes
// each weight once, and writes its copy in bfloat16 if the layers compute with one.

#include "trainer/backends/cuda/kernel.cuh"

namespace detol::inline trainer::cuda {
namespace {

template <OptimizerKind kKind>
struct Update {
  UpdateCall call;
  __device__ void operator()(std::int64_t pack) const {
    const std::int64_t at = pack * kLanes;
    const bool decays = at < call.decaying;
    OptimizerRule<float> rule = call.rule;
    rule.lr = static_cast<float>(call.now->lr);
    rule.unbiased1 = call.now->unbiased1;
    rule.unbiased2 = call.now->unbiased2;
    if (!decays) rule.decay = 0;
    Lanes weights = load(call.weights + at), first = load(call.first + at);
    const Lanes gradients = load(call.gradients + at);
    constexpr bool kHasSecond = moments_of(kKind) > 1;
    Lanes second = kHasSecond ? load(call.second + at) : zeros();
    for (int k = 0; k < kLanes; ++k)
      update_weight<kKind>(rule, gradients[k], weights[k], first[k], second[k]);
    store(call.weights + at, weights);
    store(call.first + at, first);
    if (kHasSecond) store(call.second + at, second);
    if (call.narrow != nullptr && decays) store(static_cast<Bfloat16*>(call.narrow) + at, weights);
  }
};

// Returns the sum over the threads of the block.
__device__ double sum_of_block(double value) {
  __shared__ double sums[kThreads];
  sums[threadIdx.x] = value;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  return sums[0];
}

__global__ void __launch_bounds__(kThreads)
    squares_kernel(const float* values, const Chunk* chunks, double* sums) {
  const Chunk chunk = chunks[blockIdx.x];
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < chunk.count; i += kThreads) {
    const auto value = static_cast<double>(values[chunk.first + i]);
    sum += value * value;
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    clip_kernel(const double* sums, int count, double most, float* factor) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) sum += sums[i];
  sum = sum_of_block(sum);
  if (threadIdx.x != 0) return;
  const double share = most / (sqrt(sum) + 1e-6);
  *factor = share < 1 ? static_cast<float>(share) : 1.0F;
}

__device__ double norm_of(const double* sums, const LarsTensor& tensor) {
  double sum = 0;
  for (int i = tensor.first_chunk; i < tensor.end_chunk; ++i) sum += sums[i];
  return sqrt(sum);
}

__device__ float lars_rate(const LarsCall& call, const LarsTensor& tensor) {
  const auto lr = static_cast<float>(call.now->lr);
  if (!tensor.decays) return lr;
  const double weights = norm_of(call.weight_sums, tensor);
  const double gradients = norm_of(call.gradient_sums, tensor);
  if (weights == 0 || gradients == 0) return lr;
  return static_cast<float>(static_cast<double>(lr) * call.trust * weights /
                            (gradients + call.decay * weights));
}

// blockIdx.x is the tensor; the blocks along y share its elements.
__global__ void __launch_bounds__(kThreads) lars_kernel(LarsCall call) {
  const LarsTensor tensor = call.tensors[blockIdx.x];
  OptimizerRule<float> rule{};
  rule.lr = lars_rate(call, tensor);
  rule.decay = tensor.decays ? static_cast<float>(call.decay) : 0.0F;
  rule.momentum = call.momentum;
  float none = 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.y) * kThreads;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  for (; i < tensor.count; i += stride) {
    const std::int64_t at = tensor.first + i;
    update_weight<OptimizerKind::kLars>(rule, call.gradients[at], call.weights[at],
                                        call.velocity[at], none);
    if (call.narrow != nullptr && at < call.decaying)
      static_cast<Bfloat16*>(call.narrow)[at] = rounded<Bfloat16>(call.weights[at]);
  }
}

struct MoveAverage {
  const float* weights;
  float* average;
  const program::UpdateNumbers* now;
  __device__ void operator()(std::int64_t i) const {
    average[i] = now->kept * average[i] + (1 - now->kept) * weights[i];
  }
};

}  // namespace

void update(const UpdateCall& call, Stream stream) {
  with_optimizer(call.optimizer, [&]<OptimizerKind kKind>() {
    // See update_lars(): there the rate depends on the tensor.
    if constexpr (kKind != OptimizerKind::kLars)
      for_all(call.count / kLanes, Update<kKind>{call}, stream);
  });
}

void sums_of_squares(const float* values, const Chunk* chunks, int count, double* sums,
                     Stream stream) {
  launch(stream, dim3(static_cast<unsigned>(count)), kThreads, squares_kernel, values, chunks,
         sums);
}

void clip_factor(const double* sums, int count, double most, float* factor, Stream stream) {
  launch(stream, dim3(1), kThreads, clip_kernel, sums, count, most, factor);
}

void update_lars(const LarsCall& call, Stream stream) {
  constexpr unsigned kBlocksOfATensor = 8;
  launch(stream, dim3(static_cast<unsigned>(call.count), kBlocksOfATensor), kThreads, lars_kernel,
         call);
}

void move_average(const float* weights, float* average, std::int64_t count,
                  const program::UpdateNumbers* now, Stream stream) {
  for_all(count, MoveAverage{weights, average, now}, stream);
}

}  // namespace detol::inline trainer::cuda

// Attention over the positions of an image (trainer/backends/attention.h). A warp works on one
// query or one key of a head: its threads compute the scores of 32 others at a time, then share
// their channels. Scores are computed again in the backward pass, from what the forward pass keeps
// of every query; sums are in a fixed order.

#include "trainer/backends/cuda/kernel.cuh"

namespace detol::inline trainer::cuda {
namespace {

constexpr int kWarps = kThreads / kWarp;
constexpr unsigned kAll = 0xffffffffU;
constexpr int kOwn = 4;  // channels of a thread at a time

// Turn copies queries and keys with their pairs of channels turned, or turned back; values as they
// are.
template <typename T>
struct Turn {
  AttentionCall call;
  const T* from;
  T* to;
  const float* table;
  float sign;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t channel = i % call.in_width, at = i / call.in_width % call.positions;
    to[i] = from[i];
    if (channel >= (call.heads + call.key_heads) * call.width) return;
    const std::int64_t half = call.width / 2, c = channel % call.width, pair = c % half;
    const float cosine = table[at * half + pair];
    const float sine = sign * table[(call.positions + at) * half + pair];
    const float own = to_float(from[i]), other = to_float(from[c < half ? i + half : i - half]);
    to[i] = rounded<T>(own * cosine + (c < half ? -other : other) * sine);
  }
};

// Row is a query, or a key and its value, as a warp sees it.
template <typename T>
struct Rows {
  const AttentionCall& call;
  const T* image;  // of x

  __device__ const T* query(std::int64_t head, std::int64_t at) const {
    return image + at * call.in_width + head * call.width;
  }
  __device__ const T* key(std::int64_t shared, std::int64_t at) const {
    return image + at * call.in_width + (call.heads + shared) * call.width;
  }
  __device__ const T* value(std::int64_t shared, std::int64_t at) const {
    return key(shared, at) + call.key_heads * call.width;
  }
};

template <typename T>
__device__ float product(const AttentionCall& call, const T* a, const T* b) {
  float sum = 0;
  for (std::int64_t c = 0; c < call.width; ++c) sum += to_float(a[c]) * to_float(b[c]);
  return sum;
}

// Adds share times a row to a thread's channels, the first of which is `first`.
template <typename T>
__device__ void add(const AttentionCall& call, float share, const T* row, std::int64_t first,
                    float (&sums)[kOwn]) {
  for (int k = 0; k < kOwn; ++k) {
    const std::int64_t c = first + k * kWarp;
    if (c < call.width) sums[k] += share * to_float(row[c]);
  }
}

template <typename T>
__device__ void write(const AttentionCall& call, const float (&sums)[kOwn], std::int64_t first,
                      T* row) {
  for (int k = 0; k < kOwn; ++k) {
    const std::int64_t c = first + k * kWarp;
    if (c < call.width) row[c] = rounded<T>(sums[k]);
  }
}

__device__ std::int64_t warp_index() {
  return static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
}
__device__ std::int64_t all_warps() {
  return static_cast<std::int64_t>(gridDim.x) * kWarps;
}

struct Largest {
  float score, sum;  // of exponentials relative to it
};
__device__ Largest joined(const Largest& a, const Largest& b) {
  const float score = a.score > b.score ? a.score : b.score;
  // -inf stands for no score yet.
  const float left = a.sum == 0 ? 0 : a.sum * expf(a.score - score);
  const float right = b.sum == 0 ? 0 : b.sum * expf(b.score - score);
  return {score, left + right};
}

template <typename T>
__global__ void __launch_bounds__(kThreads) forward_kernel(AttentionCall call, T* y) {
  const int lane = threadIdx.x % kWarp;
  const std::int64_t all = call.images * call.heads * call.positions;
  for (std::int64_t item = warp_index(); item < all; item += all_warps()) {
    const std::int64_t at = item % call.positions, head = item / call.positions % call.heads;
    const std::int64_t n = item / call.positions / call.heads;
    const std::int64_t shared = head * call.key_heads / call.heads;
    const std::int64_t end = call.causal ? at + 1 : call.positions;
    const Rows<T> rows{call, static_cast<const T*>(call.x) + n * call.positions * call.in_width};
    const T* query = rows.query(head, at);
    Largest most{-INFINITY, 0};
    for (std::int64_t j = lane; j < end; j += kWarp)
      most = joined(most, {product(call, query, rows.key(shared, j)) * call.scale, 1});
    for (int offset = kWarp / 2; offset > 0; offset /= 2)
      most = joined(most, {__shfl_xor_sync(kAll, most.score, offset),
                           __shfl_xor_sync(kAll, most.sum, offset)});
    const float inverse = 1 / most.sum;
    if (lane == 0) {
      call.statistics[3 * item] = most.score;
      call.statistics[3 * item + 1] = inverse;
    }
    T* out = y + (n * call.positions + at) * call.out_width + head * call.width;
    for (std::int64_t first = lane; first - lane < call.width; first += kOwn * kWarp) {
      float sums[kOwn] = {};
      for (std::int64_t j = 0; j < end; j += kWarp) {
        const float weight =
            j + lane < end
                ? expf(product(call, query, rows.key(shared, j + lane)) * call.scale - most.score) *
                      inverse
                : 0;
        for (int other = 0; other < kWarp && j + other < end; ++other)
          add(call, __shfl_sync(kAll, weight, other), rows.value(shared, j + other), first, sums);
      }
      write(call, sums, first, out);
    }
  }
}

// Weight is a query's weight of a key, and its score's gradient.
struct Weight {
  float weight, slope;
};
template <typename T>
__device__ Weight weight_of(const AttentionCall& call, const float* statistics, const T* query,
                            const T* key, const T* g, const T* value) {
  const float weight = expf(product(call, query, key) * call.scale - statistics[0]) * statistics[1];
  return {weight, weight * (product(call, g, value) - statistics[2]) * call.scale};
}

// Computes the gradients of the queries, and keeps the mean of each one's slopes for those of the
// keys: the product of the output and its gradient.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    queries_kernel(AttentionCall call, const T* y, const T* g, T* dx) {
  const int lane = threadIdx.x % kWarp;
  const std::int64_t all = call.images * call.heads * call.positions;
  for (std::int64_t item = warp_index(); item < all; item += all_warps()) {
    const std::int64_t at = item % call.positions, head = item / call.positions % call.heads;
    const std::int64_t n = item / call.positions / call.heads;
    const std::int64_t shared = head * call.key_heads / call.heads;
    const std::int64_t end = call.causal ? at + 1 : call.positions;
    const std::int64_t image = n * call.positions * call.in_width;
    const Rows<T> rows{call, static_cast<const T*>(call.x) + image};
    const std::int64_t out = (n * call.positions + at) * call.out_width + head * call.width;
    float mean = 0;
    for (std::int64_t c = lane; c < call.width; c += kWarp)
      mean += to_float(y[out + c]) * to_float(g[out + c]);
    mean = sum_of_warp(mean);
    const float statistics[3] = {call.statistics[3 * item], call.statistics[3 * item + 1], mean};
    if (lane == 0) call.statistics[3 * item + 2] = mean;
    T* to = dx + image + at * call.in_width + head * call.width;
    for (std::int64_t first = lane; first - lane < call.width; first += kOwn * kWarp) {
      float sums[kOwn] = {};
      for (std::int64_t j = 0; j < end; j += kWarp) {
        const std::int64_t own = j + lane;
        const Weight weight =
            own < end ? weight_of(call, statistics, rows.query(head, at), rows.key(shared, own),
                                  g + out, rows.value(shared, own))
                      : Weight{};
        for (int other = 0; other < kWarp && j + other < end; ++other)
          add(call, __shfl_sync(kAll, weight.slope, other), rows.key(shared, j + other), first,
              sums);
      }
      write(call, sums, first, to);
    }
  }
}

// Computes the gradients of the keys and the values, over all queries that see them.
template <typename T>
__global__ void __launch_bounds__(kThreads) keys_kernel(AttentionCall call, const T* g, T* dx) {
  const int lane = threadIdx.x % kWarp;
  const std::int64_t sharing = call.heads / call.key_heads;
  const std::int64_t all = call.images * call.key_heads * call.positions;
  for (std::int64_t item = warp_index(); item < all; item += all_warps()) {
    const std::int64_t at = item % call.positions, shared = item / call.positions % call.key_heads;
    const std::int64_t n = item / call.positions / call.key_heads;
    const std::int64_t begin = call.causal ? at : 0;
    const std::int64_t image = n * call.positions * call.in_width;
    const Rows<T> rows{call, static_cast<const T*>(call.x) + image};
    T* to = dx + image + at * call.in_width + (call.heads + shared) * call.width;
    for (std::int64_t first = lane; first - lane < call.width; first += kOwn * kWarp) {
      float of_key[kOwn] = {}, of_value[kOwn] = {};
      for (std::int64_t head = shared * sharing; head < (shared + 1) * sharing; ++head) {
        const T* gradients = g + n * call.positions * call.out_width + head * call.width;
        const float* statistics = call.statistics + 3 * (n * call.heads + head) * call.positions;
        for (std::int64_t i = begin; i < call.positions; i += kWarp) {
          const std::int64_t own = i + lane;
          const Weight weight =
              own < call.positions
                  ? weight_of(call, statistics + 3 * own, rows.query(head, own),
                              rows.key(shared, at), gradients + own * call.out_width,
                              rows.value(shared, at))
                  : Weight{};
          for (int other = 0; other < kWarp && i + other < call.positions; ++other) {
            add(call, __shfl_sync(kAll, weight.slope, other), rows.query(head, i + other), first,
                of_key);
            add(call, __shfl_sync(kAll, weight.weight, other),
                gradients + (i + other) * call.out_width, first, of_value);
          }
        }
      }
      write(call, of_key, first, to);
      write(call, of_value, first, to + call.key_heads * call.width);
    }
  }
}

dim3 blocks_for(std::int64_t warps) {
  const std::int64_t most = 8 * static_cast<std::int64_t>(device().multiprocessors);
  return dim3(
      static_cast<unsigned>(std::clamp<std::int64_t>((warps + kWarps - 1) / kWarps, 1, most)));
}

}  // namespace

void turn(const AttentionCall& call, const float* table, bool back, const void* from, void* to,
          Stream stream) {
  with_type(call.type, [&]<typename T>(T) {
    for_all(
        call.images * call.positions * call.in_width,
        Turn<T>{call, static_cast<const T*>(from), static_cast<T*>(to), table, back ? -1.0F : 1.0F},
        stream);
  });
}

void attention_forward(const AttentionCall& call, void* y, Stream stream) {
  with_type(call.type, [&]<typename T>(T) {
    launch(stream, blocks_for(call.images * call.heads * call.positions), kThreads,
           forward_kernel<T>, call, static_cast<T*>(y));
  });
}

void attention_backward(const AttentionCall& call, const void* y, const void* g, void* dx,
                        Stream stream) {
  with_type(call.type, [&]<typename T>(T) {
    launch(stream, blocks_for(call.images * call.heads * call.positions), kThreads,
           queries_kernel<T>, call, static_cast<const T*>(y), static_cast<const T*>(g),
           static_cast<T*>(dx));
    launch(stream, blocks_for(call.images * call.key_heads * call.positions), kThreads,
           keys_kernel<T>, call, static_cast<const T*>(g), static_cast<T*>(dx));
  });
}

}  // namespace detol::inline trainer::cuda

#pragma once

// Kernels over the rows of a tensor whose channels are last: for_rows() visits every pack of
// channels, column_sums() adds up two values per channel over all rows.
//
// A block is `across` packs of channels wide and kThreads / across rows high. A thread stays in one
// column, so that what its channels share is read once, and reads Body::kAhead rows before it works
// on them, so that memory is busy meanwhile.
//
// column_sums() is one launch: the threads of a block add up their rows, and the block writes its
// sums to memory. The block that finishes last in a column of blocks adds those up, in double and
// in the order of the blocks, and passes each channel's two sums to Finish: no second launch, and
// the same bits in every run (Harris, "Optimizing parallel reduction in CUDA"; the last block as in
// CUDA's threadFenceReduction sample).
//
// Both take a body with kAhead, as many as fit in registers, State begin(group), Values fetch(row,
// group), and
//   for_rows():     void operator()(state, row, group, values)
//   column_sums():  void add(state, row, group, values, a, b), which adds to the sums a and b.
// A body may write what it alone has fetched.

#include "trainer/backends/cuda/kernel.cuh"

namespace detol::inline trainer::cuda {

struct RowsShape {
  std::int64_t rows = 0;
  unsigned groups = 1;  // packs of a row
  unsigned across = 1;  // packs that a block is wide
};

struct SumsScratch {
  unsigned* counters = nullptr;  // one per column of blocks; zero between launches
  float* sums = nullptr;         // blocks x channels x 2
};

inline constexpr unsigned kMostAcross = 8;         // 128 bytes of bfloat16
inline constexpr std::int64_t kRowsOfAThread = 4;  // if the tensor is no larger
inline constexpr unsigned kCounterBytes = 256;     // the counters take a multiple of this
inline constexpr unsigned kTerms = 2 * kLanes;     // sums of a pack

inline RowsShape rows_shape(std::int64_t rows, std::int64_t channels) {
  const auto groups = static_cast<unsigned>(channels / kLanes);
  return {rows, groups, std::min(groups, kMostAcross)};
}

inline unsigned columns_of(std::int64_t channels) {
  const auto groups = static_cast<unsigned>(channels / kLanes);
  return (groups + kMostAcross - 1) / kMostAcross;
}

// Returns how many blocks work on a column: each thread gets `each` rows, unless that would be more
// than `most` blocks.
inline unsigned blocks_down(const RowsShape& shape, std::int64_t each, unsigned most) {
  const std::int64_t rows = each * (kThreads / shape.across);
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((shape.rows + rows - 1) / rows, 1, std::max(1U, most)));
}

inline unsigned most_sums_down(unsigned columns) {
  return std::max(1U, 2U * static_cast<unsigned>(device().multiprocessors) / columns);
}

inline std::size_t counter_bytes(unsigned columns) {
  return (columns * sizeof(unsigned) + kCounterBytes - 1) / kCounterBytes * kCounterBytes;
}

namespace rows {

// Calls work(row, values) for the rows of this thread.
template <typename Body, typename Work>
__device__ void visit(const RowsShape& shape, const Body& body, unsigned group, unsigned y,
                      const Work& work) {
  const unsigned down = kThreads / shape.across;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.y) * down;
  std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * down + y;
  constexpr int kAhead = Body::kAhead;
  for (; row + (kAhead - 1) * stride < shape.rows; row += kAhead * stride) {
    typename Body::Values values[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) values[i] = body.fetch(row + i * stride, group);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) work(row + i * stride, values[i]);
  }
  for (; row < shape.rows; row += stride) work(row, body.fetch(row, group));
}

template <typename Body>
__global__ void __launch_bounds__(kThreads, 2) for_rows_kernel(RowsShape shape, Body body) {
  const unsigned y = threadIdx.x / shape.across;
  const unsigned group = blockIdx.x * shape.across + threadIdx.x % shape.across;
  if (y >= kThreads / shape.across || group >= shape.groups) return;
  const auto state = body.begin(group);
  visit(shape, body, group, y, [&](std::int64_t row, const typename Body::Values& values) {
    body(state, row, group, values);
  });
}

// Returns true in all threads of the block that finishes last in its column.
__device__ inline bool is_last(unsigned* counters) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();  // what all threads of the block wrote comes before the count
    last = atomicAdd(&counters[blockIdx.x], 1U) == gridDim.y - 1;
    if (last) counters[blockIdx.x] = 0;
    __threadfence();
  }
  __syncthreads();
  return last;
}

// Returns the sum over the parts of shared[part][value], for a value of each thread.
template <typename Real>
__device__ Real sum_of_parts(const Real* shared, unsigned values, unsigned parts) {
  Real sum = 0;
#pragma unroll 8
  for (unsigned part = 0; part < parts; ++part) sum += shared[part * values + threadIdx.x];
  return sum;
}

// Adds up what all blocks of the column left in `sums`, in their order; totals[value] gets the
// sums.
__device__ inline void sum_blocks(const RowsShape& shape, const float* sums,
                                  double (&totals)[4 * kThreads]) {
  const unsigned values = kTerms * shape.across;
  const std::int64_t width = static_cast<std::int64_t>(shape.groups) * kTerms;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * values;
  // Four values a thread, so that all blocks' sums are read at once.
  const unsigned quads = values / 4, shares = kThreads / quads;
  const unsigned quad = threadIdx.x % quads, share = threadIdx.x / quads;
  double total[4] = {};
  if (share < shares && first + 4 * quad < width) {
#pragma unroll 8
    for (unsigned block = share; block < gridDim.y; block += shares) {
      const float4 four = *reinterpret_cast<const float4*>(sums + block * width + first + 4 * quad);
      total[0] += static_cast<double>(four.x);
      total[1] += static_cast<double>(four.y);
      total[2] += static_cast<double>(four.z);
      total[3] += static_cast<double>(four.w);
    }
  }
  for (int i = 0; i < 4; ++i) totals[4 * threadIdx.x + i] = total[i];
  __syncthreads();
  const double of_value = threadIdx.x < values ? sum_of_parts(totals, values, shares) : 0;
  __syncthreads();
  if (threadIdx.x < values) totals[threadIdx.x] = of_value;
  __syncthreads();
}

template <typename Term, typename Finish>
__global__ void __launch_bounds__(kThreads, 2)
    column_sums_kernel(RowsShape shape, Term term, Finish finish, SumsScratch scratch) {
  // A plane of the block's threads per term, two apart: then a warp's reads are of all banks.
  constexpr unsigned kPlane = kThreads + 2;
  __shared__ float planes[kTerms * kPlane];
  __shared__ double totals[4 * kThreads];
  const unsigned down = kThreads / shape.across;  // rows of a block
  const unsigned y = threadIdx.x / shape.across;
  const unsigned group = blockIdx.x * shape.across + threadIdx.x % shape.across;
  Lanes a = zeros(), b = zeros();
  if (y < down && group < shape.groups) {
    const auto state = term.begin(group);
    visit(shape, term, group, y, [&](std::int64_t row, const typename Term::Values& values) {
      term.add(state, row, group, values, a, b);
    });
  }
  for (unsigned k = 0; k < kLanes; ++k) {
    planes[k * kPlane + threadIdx.x] = a[static_cast<int>(k)];
    planes[(kLanes + k) * kPlane + threadIdx.x] = b[static_cast<int>(k)];
  }
  __syncthreads();
  // From here on a thread has one of the block's values, which `parts` threads share.
  const unsigned values = kTerms * shape.across, parts = kThreads / values;
  const unsigned value = threadIdx.x % values, part = threadIdx.x / values;
  float sum = 0;
  for (unsigned at = part; part < parts && at < down; at += parts)
    sum += planes[value % kTerms * kPlane + at * shape.across + value / kTerms];
  __syncthreads();
  planes[threadIdx.x] = sum;
  __syncthreads();
  const std::int64_t width = static_cast<std::int64_t>(shape.groups) * kTerms;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * values;
  if (threadIdx.x < values && first + value < width)
    scratch.sums[blockIdx.y * width + first + value] = sum_of_parts(planes, values, parts);
  if (!is_last(scratch.counters)) return;
  sum_blocks(shape, scratch.sums, totals);
  // A thread per channel, for what Finish does takes long.
  const unsigned pack = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  if (pack >= shape.across || blockIdx.x * shape.across + pack >= shape.groups) return;
  finish((blockIdx.x * shape.across + pack) * kLanes + lane, totals[pack * kTerms + lane],
         totals[pack * kTerms + kLanes + lane]);
}

}  // namespace rows

template <typename Body>
void for_rows(std::int64_t rows, std::int64_t channels, const Body& body, Stream stream) {
  if (rows == 0) return;
  const RowsShape shape = rows_shape(rows, channels);
  const unsigned columns = columns_of(channels);
  const unsigned most = 8U * static_cast<unsigned>(device().multiprocessors) / columns;
  launch(stream, dim3(columns, blocks_down(shape, kRowsOfAThread, most)), kThreads,
         rows::for_rows_kernel<Body>, shape, body);
}

// Calls finish(channel, sum of a, sum of b) for every channel. REQUIRES: `scratch` has
// sums_scratch_bytes() bytes, and its counters are zero.
template <typename Term, typename Finish>
void column_sums(std::int64_t rows, std::int64_t channels, const Term& term, const Finish& finish,
                 void* scratch, Stream stream) {
  const RowsShape shape = rows_shape(rows, channels);
  const unsigned columns = columns_of(channels);
  auto* bytes = static_cast<std::byte*>(scratch);
  const SumsScratch partial{reinterpret_cast<unsigned*>(bytes),
                            reinterpret_cast<float*>(bytes + counter_bytes(columns))};
  launch(stream, dim3(columns, blocks_down(shape, 2 * kRowsOfAThread, most_sums_down(columns))),
         kThreads, rows::column_sums_kernel<Term, Finish>, shape, term, finish, partial);
}

}  // namespace detol::inline trainer::cuda

// Batch norm with its fused tail (Ioffe and Szegedy, 2015, arXiv 1502.03167). Forward: a pass for
// the statistics, one for the output. Backward: a pass for the two sums of a channel, one for
//
//   dx = gamma / s (g - mean(g) - (x - m) / s^2 mean(g (x - m))),   s^2 = variance + epsilon,
//
// where g is the output's gradient, and 0 where ReLU's output is 0.
//
// Variances are computed of x minus its value in the first row, so that a large mean takes no
// digits from them (Chan, Golub and LeVeque, 1983, "Algorithms for computing the sample variance").

#include "trainer/backends/cuda/column_sums.cuh"
#include "trainer/backends/norm_constants.h"

namespace detol::inline trainer::cuda {
namespace {

// Turns the statistics of a channel into what the other kernels read.
__device__ void set_statistics(const NormCall& call, unsigned c, double mean, double variance) {
  const double inverse = 1.0 / sqrt(variance + kNormEpsilon);
  const auto gamma = static_cast<double>(call.gamma[c]);
  call.mean[c] = static_cast<float>(mean);
  call.inverse[c] = static_cast<float>(inverse);
  call.scale[c] = static_cast<float>(gamma * inverse);
}

__device__ float moved(float statistic, double measured) {
  const auto old = static_cast<double>(statistic);
  return static_cast<float>(old + kStatisticsMomentum * (measured - old));
}

// The running variance moves to the unbiased estimate or, of a single value, to the biased one.
// Reads come first: each would wait for the writes before it.
__device__ void set_measured_statistics(const NormCall& call, unsigned c, double mean,
                                        double variance, double count) {
  const float old_mean = call.running_mean[c], old_var = call.running_var[c];
  set_statistics(call, c, mean, variance);
  call.running_mean[c] = moved(old_mean, mean);
  call.running_var[c] = moved(old_var, count > 1 ? variance * count / (count - 1) : variance);
}

__device__ void set_gradient_means(const NormCall& call, unsigned c, double g, double moment,
                                   double count) {
  const auto inverse = static_cast<double>(call.inverse[c]);
  call.mean_g[c] = static_cast<float>(g / count);
  call.slope[c] = static_cast<float>(moment * inverse * inverse / count);
}

template <typename T>
struct Statistics {
  static constexpr int kAhead = sizeof(T) == 2 ? 8 : 4;
  using State = Lanes;  // x of the first row
  using Values = Pack<T>;
  const T* x;
  std::int64_t channels;
  __device__ State begin(unsigned group) const { return load(x + group * kLanes); }
  __device__ Values fetch(std::int64_t row, unsigned group) const {
    return pack_at(x + row * channels + group * kLanes);
  }
  __device__ void add(const State& origin, std::int64_t, unsigned, const Values& values, Lanes& a,
                      Lanes& b) const {
    const Lanes at = lanes_of(values);
    for (int k = 0; k < kLanes; ++k) {
      const float d = at[k] - origin[k];
      a[k] += d;
      b[k] += d * d;
    }
  }
};

// Synchronised sums are of x minus the running mean, which is the same on every rank.
template <typename T>
struct FinishStatistics {
  NormCall call;
  __device__ void operator()(unsigned c, double a, double b) const {
    const auto rows = static_cast<double>(call.rows);
    const double shift = a / rows;
    const double variance = max(0.0, b / rows - shift * shift);
    const double mean = static_cast<double>(to_float(static_cast<const T*>(call.x)[c])) + shift;
    // Keeps NaN, which max() would replace by 0.
    const double kept = b == b ? variance : b;
    if (call.shared == nullptr) return set_measured_statistics(call, c, mean, kept, rows);
    const double from_running = mean - static_cast<double>(call.running_mean[c]);
    call.shared[c] = rows * from_running;
    call.shared[call.channels + c] = rows * (kept + from_running * from_running);
    if (c == 0) call.shared[2 * call.channels] = rows;
  }
};

struct StatisticsFromShared {
  NormCall call;
  __device__ void operator()(std::int64_t i) const {
    const double count = call.shared[2 * call.channels];
    const double shift = call.shared[i] / count;
    const double square = call.shared[call.channels + i] / count - shift * shift;
    const double variance = square < 0 ? 0 : square;
    const auto c = static_cast<unsigned>(i);
    set_measured_statistics(call, c, static_cast<double>(call.running_mean[c]) + shift, variance,
                            count);
  }
};

struct StatisticsFromRunning {
  NormCall call;
  __device__ void operator()(std::int64_t i) const {
    const auto c = static_cast<unsigned>(i);
    set_statistics(call, c, static_cast<double>(call.running_mean[c]),
                   static_cast<double>(call.running_var[c]));
  }
};

// Returns (x - mean) scale + beta, rounded alike in every kernel: its sign decides ReLU's mask.
__device__ inline float normalised(float x, float mean, float scale, float beta) {
  return fmaf(x - mean, scale, beta);
}

template <typename T>
struct Forward {
  static constexpr int kAhead = sizeof(T) == 2 ? 4 : 2;
  struct State {
    Lanes mean, scale, beta;
  };
  struct Values {
    Pack<T> x, addend;
  };
  NormCall call;
  __device__ State begin(unsigned group) const {
    const unsigned first = group * kLanes;
    return {load(call.mean + first), load(call.scale + first), load(call.beta + first)};
  }
  __device__ Values fetch(std::int64_t row, unsigned group) const {
    const std::int64_t at = row * call.channels + group * kLanes;
    Values values;
    values.x = pack_at(static_cast<const T*>(call.x) + at);
    if (call.addend != nullptr) values.addend = pack_at(static_cast<const T*>(call.addend) + at);
    return values;
  }
  __device__ void operator()(const State& state, std::int64_t row, unsigned group,
                             const Values& values) const {
    const Lanes x = lanes_of(values.x);
    Lanes y;
    for (int k = 0; k < kLanes; ++k)
      y[k] = normalised(x[k], state.mean[k], state.scale[k], state.beta[k]);
    if (call.addend != nullptr) {
      const Lanes addend = lanes_of(values.addend);
      for (int k = 0; k < kLanes; ++k) y[k] += addend[k];
    }
    if (call.relu) {
      for (int k = 0; k < kLanes; ++k) y[k] = y[k] < 0 ? 0.0F : y[k];
    }
    store(static_cast<T*>(call.y) + row * call.channels + group * kLanes, y);
  }
};

template <typename T>
struct Sums {
  static constexpr int kAhead = sizeof(T) == 2 ? 2 : 1;
  struct State {
    Lanes mean, scale, beta;
  };
  struct Values {
    Pack<T> x, g, other, y;
  };
  NormCall call;
  const T *g, *other;
  T* masked;
  __device__ State begin(unsigned group) const {
    const unsigned first = group * kLanes;
    return {load(call.mean + first), load(call.scale + first), load(call.beta + first)};
  }
  __device__ bool reads_output() const { return call.relu && call.addend != nullptr; }
  __device__ Values fetch(std::int64_t row, unsigned group) const {
    const std::int64_t at = row * call.channels + group * kLanes;
    Values values;
    values.x = pack_at(static_cast<const T*>(call.x) + at);
    values.g = pack_at(g + at);
    if (other != nullptr) values.other = pack_at(other + at);
    if (reads_output()) values.y = pack_at(static_cast<const T*>(call.y) + at);
    return values;
  }
  __device__ void add(const State& state, std::int64_t row, unsigned group, const Values& values,
                      Lanes& a, Lanes& b) const {
    const Lanes x = lanes_of(values.x);
    Lanes by = lanes_of(values.g);
    if (other != nullptr) {
      const Lanes more = lanes_of(values.other);
      for (int k = 0; k < kLanes; ++k) by[k] += more[k];
    }
    if (call.relu) mask(state, x, values, by);
    if (masked != nullptr) store(masked + row * call.channels + group * kLanes, by);
    for (int k = 0; k < kLanes; ++k) {
      a[k] += by[k];
      b[k] += by[k] * (x[k] - state.mean[k]);
    }
  }
  __device__ void mask(const State& state, const Lanes& x, const Values& values, Lanes& by) const {
    Lanes y;
    if (reads_output()) {
      y = lanes_of(values.y);
    } else {
      for (int k = 0; k < kLanes; ++k)
        y[k] = normalised(x[k], state.mean[k], state.scale[k], state.beta[k]);
    }
    for (int k = 0; k < kLanes; ++k) by[k] = y[k] > 0 ? by[k] : 0.0F;
  }
};

// The parameters' gradients are this rank's own: the group adds all gradients up later.
struct FinishSums {
  NormCall call;
  __device__ void operator()(unsigned c, double g, double moment) const {
    call.gamma_gradient[c] = static_cast<float>(moment * static_cast<double>(call.inverse[c]));
    call.beta_gradient[c] = static_cast<float>(g);
    const auto rows = static_cast<double>(call.rows);
    if (call.shared == nullptr) return set_gradient_means(call, c, g, moment, rows);
    call.shared[c] = g;
    call.shared[call.channels + c] = moment;
    if (c == 0) call.shared[2 * call.channels] = rows;
  }
};

struct SumsFromShared {
  NormCall call;
  __device__ void operator()(std::int64_t i) const {
    set_gradient_means(call, static_cast<unsigned>(i), call.shared[i],
                       call.shared[call.channels + i], call.shared[2 * call.channels]);
  }
};

template <typename T>
struct Backward {
  static constexpr int kAhead = sizeof(T) == 2 ? 4 : 2;
  struct State {
    Lanes mean, scale, beta, mean_g, slope;
  };
  struct Values {
    Pack<T> x, g;
  };
  NormCall call;
  bool is_masked;
  const T* g;
  T* dx;
  __device__ State begin(unsigned group) const {
    const unsigned first = group * kLanes;
    return {load(call.mean + first), load(call.scale + first), load(call.beta + first),
            load(call.mean_g + first), load(call.slope + first)};
  }
  __device__ Values fetch(std::int64_t row, unsigned group) const {
    const std::int64_t at = row * call.channels + group * kLanes;
    return {pack_at(static_cast<const T*>(call.x) + at), pack_at(g + at)};
  }
  __device__ void operator()(const State& state, std::int64_t row, unsigned group,
                             const Values& values) const {
    T* to = dx + row * call.channels + group * kLanes;
    if (row >= call.rows) return store(to, zeros());
    const Lanes x = lanes_of(values.x);
    Lanes by = lanes_of(values.g);
    if (call.relu && !is_masked) {
      for (int k = 0; k < kLanes; ++k) {
        const float y = normalised(x[k], state.mean[k], state.scale[k], state.beta[k]);
        by[k] = y > 0 ? by[k] : 0.0F;
      }
    }
    Lanes out;
    for (int k = 0; k < kLanes; ++k)
      out[k] = state.scale[k] * (by[k] - state.mean_g[k] - (x[k] - state.mean[k]) * state.slope[k]);
    store(to, out);
  }
};

}  // namespace

std::size_t sums_scratch_bytes(std::int64_t channels) {
  const unsigned columns = columns_of(channels);
  return counter_bytes(columns) +
         most_sums_down(columns) * static_cast<std::size_t>(2 * padded(channels)) * sizeof(float);
}

void norm_statistics(const NormCall& call, Stream stream) {
  with_type(call.type, [&]<typename T>(T) {
    column_sums(call.rows, call.channels,
                Statistics<T>{static_cast<const T*>(call.x), call.channels},
                FinishStatistics<T>{call}, call.scratch, stream);
  });
}

void norm_statistics_from_shared(const NormCall& call, Stream stream) {
  for_all(call.channels, StatisticsFromShared{call}, stream);
}

void norm_statistics_from_running(const NormCall& call, Stream stream) {
  for_all(call.channels, StatisticsFromRunning{call}, stream);
}

void norm_forward(const NormCall& call, Stream stream) {
  with_type(call.type, [&]<typename T>(T) {
    for_rows(call.rows_held, call.channels, Forward<T>{call}, stream);
  });
}

void norm_sums(const NormCall& call, const void* g, const void* other, void* masked,
               Stream stream) {
  with_type(call.type, [&]<typename T>(T) {
    column_sums(call.rows, call.channels,
                Sums<T>{call, static_cast<const T*>(g), static_cast<const T*>(other),
                        static_cast<T*>(masked)},
                FinishSums{call}, call.scratch, stream);
  });
  const std::int64_t unused = (call.rows_held - call.rows) * call.channels;
  if (masked == nullptr || unused == 0) return;
  const std::size_t size = size_of(call.type);
  auto* bytes = static_cast<std::byte*>(masked);
  check(cudaMemsetAsync(bytes + static_cast<std::size_t>(call.rows * call.channels) * size, 0,
                        static_cast<std::size_t>(unused) * size, stream),
        "clearing memory");
}

void norm_sums_from_shared(const NormCall& call, Stream stream) {
  for_all(call.channels, SumsFromShared{call}, stream);
}

void norm_backward(const NormCall& call, const void* g, bool is_masked, void* dx, Stream stream) {
  with_type(call.type, [&]<typename T>(T) {
    for_rows(call.rows_held, call.channels,
             Backward<T>{call, is_masked, static_cast<const T*>(g), static_cast<T*>(dx)}, stream);
  });
}

}  // namespace detol::inline trainer::cuda

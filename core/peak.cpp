#include "core/peak.h"

#include <immintrin.h>

#include "core/clock.h"

namespace detol::inline core {
namespace {

// Twelve chains hide a latency of up to six cycles at two multiply-adds a cycle; x = x m + c has a
// fixed point, so that nothing overflows or becomes denormal however long it runs.
constexpr int kRounds = 1 << 18;
constexpr int kChains = 12;
constexpr float kFactor = 0.999f, kOffset = 0.001f;

__attribute__((target("avx512f"))) float chains_avx512() {
  __m512 x[kChains];
  for (__m512& chain : x) chain = _mm512_set1_ps(1.0f);
  const __m512 m = _mm512_set1_ps(kFactor), c = _mm512_set1_ps(kOffset);
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m512& chain : x) chain = _mm512_fmadd_ps(chain, m, c);
  }
  float sum = 0;
  for (const __m512& chain : x) sum += chain[0];
  return sum;
}

__attribute__((target("avx2,fma"))) float chains_avx2() {
  __m256 x[kChains];
  for (__m256& chain : x) chain = _mm256_set1_ps(1.0f);
  const __m256 m = _mm256_set1_ps(kFactor), c = _mm256_set1_ps(kOffset);
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m256& chain : x) chain = _mm256_fmadd_ps(chain, m, c);
  }
  float sum = 0;
  for (const __m256& chain : x) sum += chain[0];
  return sum;
}

volatile float g_sink;  // keeps the compiler from dropping the probe

}  // namespace

double probe_fma() {
  const bool wide = __builtin_cpu_supports("avx512f") != 0;
  const double start = thread_seconds();
  g_sink = wide ? chains_avx512() : chains_avx2();
  const double seconds = thread_seconds() - start;
  const double flops = 2.0 * kRounds * kChains * (wide ? 16 : 8);
  return flops / seconds * 1e-9;
}

}  // namespace detol::inline core

// Converts eight numbers at once by F16C, which every x86-64 processor of the last ten years has.
// The remaining ones go through a padded register, so that they get the same bits.

#include "core/half.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cassert>

namespace detol::inline core {
namespace {

constexpr std::size_t kLanes = 8;
constexpr float kLargest = 65504;

__m256 load(const Half* halves) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves)));
}

// Rounds and stores. NaN stays NaN, since min and max return their second operand if one is NaN.
void store(__m256 values, Half* halves) {
  const __m256 sign = _mm256_set1_ps(-0.0F);
  const __m256 infinity = _mm256_set1_ps(__builtin_inff());
  const __m256 infinite = _mm256_cmp_ps(_mm256_andnot_ps(sign, values), infinity, _CMP_EQ_OQ);
  const __m256 low = _mm256_max_ps(_mm256_set1_ps(-kLargest), values);
  const __m256 kept = _mm256_min_ps(_mm256_set1_ps(kLargest), low);
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(halves),
      _mm256_cvtps_ph(_mm256_blendv_ps(kept, values, infinite), _MM_FROUND_TO_NEAREST_INT));
}

__m256 sum_of(const Half* first, std::size_t stride, std::size_t terms) {
  __m256 sum = load(first);
  for (std::size_t i = 1; i < terms; ++i) sum = _mm256_add_ps(sum, load(first + i * stride));
  return sum;
}

}  // namespace

void to_halves(std::span<const float> values, float scale, std::span<Half> halves) {
  assert(values.size() == halves.size());
  const __m256 factor = _mm256_set1_ps(scale);
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes)
    store(_mm256_mul_ps(_mm256_loadu_ps(&values[i]), factor), &halves[i]);
  std::array<float, kLanes> rest{};
  std::array<Half, kLanes> made{};
  std::ranges::copy(values.subspan(i), rest.begin());
  store(_mm256_mul_ps(_mm256_loadu_ps(rest.data()), factor), made.data());
  std::copy_n(made.begin(), values.size() - i, halves.begin() + static_cast<std::ptrdiff_t>(i));
}

void from_halves(std::span<const Half> halves, float scale, std::span<float> values) {
  assert(values.size() == halves.size());
  const __m256 factor = _mm256_set1_ps(scale);
  std::size_t i = 0;
  for (; i + kLanes <= halves.size(); i += kLanes)
    _mm256_storeu_ps(&values[i], _mm256_mul_ps(load(&halves[i]), factor));
  std::array<Half, kLanes> rest{};
  std::array<float, kLanes> made{};
  std::ranges::copy(halves.subspan(i), rest.begin());
  _mm256_storeu_ps(made.data(), _mm256_mul_ps(load(rest.data()), factor));
  std::copy_n(made.begin(), halves.size() - i, values.begin() + static_cast<std::ptrdiff_t>(i));
}

void add_halves(std::span<const Half> all, std::size_t terms, std::span<Half> sum) {
  const std::size_t each = sum.size();
  assert(all.size() == terms * each && terms > 0);
  std::size_t i = 0;
  for (; i + kLanes <= each; i += kLanes) store(sum_of(&all[i], each, terms), &sum[i]);
  for (; i < each; ++i) {
    std::array<Half, kLanes> made{};
    __m256 total = _mm256_setzero_ps();
    for (std::size_t term = 0; term < terms; ++term) {
      const std::array<Half, kLanes> one{all[term * each + i]};
      total = term == 0 ? load(one.data()) : _mm256_add_ps(total, load(one.data()));
    }
    store(total, made.data());
    sum[i] = made[0];
  }
}

}  // namespace detol::inline core

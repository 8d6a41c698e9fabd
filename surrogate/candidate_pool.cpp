#include "surrogate/candidate_pool.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace detol::inline surrogate {
namespace {

constexpr std::size_t kBlockRows = Cholesky::kRows;
constexpr std::size_t kTileColumns = 128;  // candidates solved at once

// Computes values -= factors[0] row_0 + ... + factors[7] row_7, in that order.
void subtract_rows(const std::array<double, kBlockRows>& factors, const std::vector<float>& rows,
                   std::span<double> values) {
  const std::size_t m = values.size();
  const float* const row = rows.data();
  double* const value = values.data();
  for (std::size_t j = 0; j < m; ++j) {
    double sum = value[j];
    for (std::size_t r = 0; r < kBlockRows; ++r)
      sum -= factors[r] * static_cast<double>(row[r * m + j]);
    value[j] = sum;
  }
}

}  // namespace

const float* CandidatePool::at(std::size_t i) const {
  return blocks_[i / kBlockRows].data() + i % kBlockRows * candidates();
}

float* CandidatePool::at(std::size_t i) {
  return blocks_[i / kBlockRows].data() + i % kBlockRows * candidates();
}

void CandidatePool::hold(std::size_t observations) {
  const std::size_t count = (observations + kBlockRows - 1) / kBlockRows;
  while (blocks_.size() < count) blocks_.emplace_back(kBlockRows * candidates());
  blocks_.resize(count);
}

void CandidatePool::append(std::span<const double> l, std::span<const double> kernel, double z,
                           double o, std::size_t first) {
  const std::size_t n = observations();
  assert(l.size() == n + 1 && kernel.size() == candidates());
  std::vector<double> values(kernel.begin(), kernel.end());
  subtract(l, first, n, values);
  hold(n + 1);
  std::ranges::transform(values, at(n), [&](double v) { return static_cast<float>(v / l[n]); });
  z_.push_back(z);
  o_.push_back(o);
  add<1>(n);
}

void CandidatePool::subtract(std::span<const double> l, std::size_t first, std::size_t last,
                             std::span<double> kernel) const {
  for (std::size_t block = first / kBlockRows; block * kBlockRows < last; ++block) {
    std::array<double, kBlockRows> factors{};  // those of other rows stay 0
    const std::size_t begin = block * kBlockRows;
    for (std::size_t i = std::max(first, begin); i < std::min(last, begin + kBlockRows); ++i)
      factors[i - begin] = l[i];
    subtract_rows(factors, blocks_[block], kernel);
  }
}

void CandidatePool::assign(const Cholesky& factor, std::span<const double> kernel,
                           std::span<const double> z, std::span<const double> o) {
  const std::size_t n = factor.size(), m = candidates();
  assert(kernel.size() == n * m && z.size() == n && o.size() == n);
  hold(n);
  for (std::size_t first = 0; first < m; first += kTileColumns) {
    const std::size_t count = std::min(kTileColumns, m - first);
    std::vector<double> tile(n * count);
    for (std::size_t i = 0; i < n; ++i)
      std::copy_n(&kernel[i * m + first], count, &tile[i * count]);
    factor.solve(tile, count);
    for (std::size_t i = 0; i < n; ++i)
      std::transform(&tile[i * count], &tile[i * count] + count, at(i) + first,
                     [](double v) { return static_cast<float>(v); });
  }
  z_.assign(z.begin(), z.end());
  o_.assign(o.begin(), o.end());
  kept_ = Sums(candidates());
  sum_up();
}

void CandidatePool::truncate(std::size_t observations) {
  assert(observations <= z_.size());
  if (observations == z_.size()) return;
  z_.resize(observations);
  o_.resize(observations);
  hold(observations);
  sum_up();
}

void CandidatePool::keep_sums() {
  kept_ = sums_;
  kept_.observations = observations();
}

void CandidatePool::replace_outcomes(std::span<const double> z) {
  assert(z.size() == observations());
  z_.assign(z.begin(), z.end());
  kept_ = Sums(candidates());
  sum_up();
}

void CandidatePool::sum_up() {
  const std::size_t n = observations();
  if (kept_.observations > n) kept_ = Sums(candidates());
  sums_ = kept_;
  std::size_t i = kept_.observations;
  for (; i < n && i % kBlockRows != 0; ++i) add<1>(i);
  for (; i + kBlockRows <= n; i += kBlockRows) add<kBlockRows>(i);
  for (; i < n; ++i) add<1>(i);
}

template <std::size_t kCount>
void CandidatePool::add(std::size_t first) {
  const std::size_t m = candidates();
  const float* const rows = at(first);
  const double *const z = &z_[first], *const o = &o_[first];
  double* const with_z = sums_.with_z.data();
  double* const with_o = sums_.with_o.data();
  double* const squares = sums_.squares.data();
  for (std::size_t j = 0; j < m; ++j) {
    double a = with_z[j], b = with_o[j], c = squares[j];
    for (std::size_t r = 0; r < kCount; ++r) {
      const double v = rows[r * m + j];
      a += v * z[r];
      b += v * o[r];
      c += v * v;
    }
    with_z[j] = a;
    with_o[j] = b;
    squares[j] = c;
  }
}

std::size_t CandidatePool::bytes() const {
  return blocks_.size() * (kBlockRows * candidates() * sizeof(float) + sizeof(std::vector<float>)) +
         (6 * candidates() + z_.capacity() + o_.capacity()) * sizeof(double);
}

}  // namespace detol::inline surrogate

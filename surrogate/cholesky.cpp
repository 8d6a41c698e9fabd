#include "surrogate/cholesky.h"

// A solve with one right-hand side reads L once, and should be limited only by the memory's speed.
// It takes eight rows at a time: their products with the entries solved already are eight
// independent sums of four lanes, and only the remaining triangle of eight needs dependent steps.
// The lane of a product depends on its column alone, so a row's sum is the same wherever a call
// begins or ends.
//
// A few right-hand sides are multiplied with the same eight rows in tiles of eight, each sum in its
// own order, independent of the others. For many, panels of rows are unpacked for Eigen's matrix
// product.

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "surrogate/arithmetic_impl.h"
#include "surrogate/eigen_impl.h"

namespace detol::inline surrogate {
namespace {

constexpr std::size_t kRows = Cholesky::kRows;
constexpr std::size_t kLanes = 4;
constexpr std::size_t kPanel = 128;        // rows unpacked at once
constexpr std::size_t kTile = 2 * kLanes;  // right-hand sides multiplied at once
constexpr std::size_t kFewColumns = 64;    // right-hand sides for which unpacking does not pay

using Lanes = Eigen::Array<double, kLanes, 1>;
using Eight = std::array<double, kRows>;

Eigen::Map<const Lanes> load(const double* numbers) {
  return Eigen::Map<const Lanes>(numbers);
}

// Returns the products of eight rows with the first `columns` numbers of x.
// REQUIRES: `columns` is a multiple of 8.
Eight products(const double* rows, std::size_t width, const double* x, std::size_t columns) {
  std::array<Lanes, kRows> sums;
  sums.fill(Lanes::Zero());
  for (std::size_t j = 0; j < columns; j += kLanes) {
    const Lanes factor = load(x + j);
    for (std::size_t r = 0; r < kRows; ++r) sums[r] += load(rows + r * width + j) * factor;
  }
  Eight result;
  for (std::size_t r = 0; r < kRows; ++r) result[r] = sums[r].sum();
  return result;
}

// Computes x -= y_0 row_0 + ... + y_7 row_7 for the first `columns` numbers.
void subtract(const double* rows, std::size_t width, const Eight& y, double* x,
              std::size_t columns) {
  for (std::size_t j = 0; j < columns; j += kLanes) {
    Lanes sum = load(x + j);
    for (std::size_t r = 0; r < kRows; ++r) sum -= load(rows + r * width + j) * y[r];
    Eigen::Map<Lanes>{x + j} = sum;
  }
}

// Subtracts the products of four rows of L with the `columns` rows of the tile above from a tile of
// four rows of x, `stride` numbers apart.
void subtract_product(const double* rows, std::size_t width, const double* above, double* here,
                      std::size_t stride, std::size_t columns) {
  constexpr std::size_t kHalf = kRows / 2;
  std::array<std::array<Lanes, 2>, kHalf> sums;
  for (std::size_t r = 0; r < kHalf; ++r)
    sums[r] = {load(here + r * stride), load(here + r * stride + kLanes)};
  for (std::size_t j = 0; j < columns; ++j) {
    const Lanes left = load(above + j * stride), right = load(above + j * stride + kLanes);
    for (std::size_t r = 0; r < kHalf; ++r) {
      const double factor = rows[r * width + j];
      sums[r][0] -= factor * left;
      sums[r][1] -= factor * right;
    }
  }
  for (std::size_t r = 0; r < kHalf; ++r) {
    Eigen::Map<Lanes>{here + r* stride} = sums[r][0];
    Eigen::Map<Lanes>{here + r* stride + kLanes} = sums[r][1];
  }
}

bool is_positive(double pivot, double diagonal) {
  return std::isfinite(diagonal) && diagonal > 0 && pivot >= Cholesky::kLeastPivot * diagonal;
}

// Views `b` as rows. Callers copy the view before they compute with it: Eigen's order of summation
// depends on the alignment of an array, and its own arrays begin aligned. REQUIRES: columns > 0.
Eigen::Map<RowMajor> rows_of(std::span<double> b, std::size_t columns) {
  return {b.data(), to_index(b.size() / columns), to_index(columns)};
}

// Copies rows [first, first + count) of L, up to their last diagonal; the numbers behind a row's
// diagonal are not set.
RowMajor unpacked(const Cholesky& factor, std::size_t first, std::size_t count) {
  RowMajor panel(count, first + count);
  for (std::size_t r = 0; r < count; ++r)
    std::ranges::copy(factor.row(first + r), panel.row(static_cast<Eigen::Index>(r)).data());
  return panel;
}

}  // namespace

void Cholesky::hold(std::size_t rows) {
  const std::size_t count = (rows + kRows - 1) / kRows;
  blocks_.reserve(count);
  while (blocks_.size() < count) {
    const std::size_t numbers = kRows * width(blocks_.size());
    blocks_.emplace_back(new (kAlignment) double[numbers]());
  }
  blocks_.resize(count);
}

bool Cholesky::append(std::span<const double> k, double diagonal, std::span<const double> begun) {
  assert(k.size() == size_ && begun.size() <= size_);
  hold(size_ + 1);
  const std::span<double> q{at(size_), size_};
  std::ranges::copy(begun, q.begin());
  std::ranges::copy(k.subspan(begun.size()), q.subspan(begun.size()).begin());
  solve_first(q, begun.size());
  const double pivot = diagonal - dot(q, q);
  if (!is_positive(pivot, diagonal)) {
    std::ranges::fill(q, 0.0);
    hold(size_);
    return false;
  }
  at(size_)[size_] = std::sqrt(pivot);
  ++size_;
  return true;
}

void Cholesky::truncate(std::size_t size) {
  assert(size <= size_);
  size_ = size;
  hold(size);
}

bool Cholesky::factorise(std::span<const double> matrix, std::size_t n) {
  assert(matrix.size() == n * n);
  truncate(0);
  const auto order = static_cast<Eigen::Index>(n);
  RowMajor dense = Eigen::Map<const RowMajor>(matrix.data(), order, order);
  const Eigen::LLT<Eigen::Ref<RowMajor>, Eigen::Lower> factor(dense);
  if (factor.info() != Eigen::Success) return false;
  for (std::size_t i = 0; i < n; ++i) {
    const double root = dense.data()[i * n + i];
    if (!is_positive(root * root, matrix[i * n + i])) return false;
  }
  hold(n);
  for (std::size_t i = 0; i < n; ++i) std::copy_n(dense.data() + i * n, i + 1, at(i));
  size_ = n;
  return true;
}

void Cholesky::solve_first(std::span<double> b, std::size_t solved) const {
  for (std::size_t first = solved / kRows * kRows; first < b.size(); first += kRows) {
    const double* rows = at(first);
    const std::size_t wide = width(first / kRows);
    const std::size_t count = std::min(kRows, b.size() - first);
    const std::size_t done = std::max(first, solved) - first;
    Eight y = products(rows, wide, b.data(), first);
    for (std::size_t r = 0; r < count; ++r) y[r] = b[first + r] - (r < done ? 0 : y[r]);
    for (std::size_t r = 0; r < count; ++r) {
      const double* column = rows + first + r;
      if (r >= done) y[r] /= column[r * wide];
      for (std::size_t c = std::max(done, r + 1); c < count; ++c) y[c] -= column[c * wide] * y[r];
    }
    std::copy_n(y.begin(), count, &b[first]);
  }
}

void Cholesky::solve(std::span<double> b) const {
  assert(b.size() == size_);
  solve_first(b);
}

double Cholesky::solve_last(std::span<const double> solved, double b) const {
  assert(solved.size() + 1 == size_);
  const std::size_t i = solved.size(), first = i / kRows * kRows;
  const double* last = at(i);
  Lanes sum = Lanes::Zero();
  for (std::size_t j = 0; j < first; j += kLanes) sum += load(last + j) * load(&solved[j]);
  double y = b - sum.sum();
  for (std::size_t j = first; j < i; ++j) y -= last[j] * solved[j];
  return y / last[i];
}

void Cholesky::solve_transposed(std::span<double> b) const {
  assert(b.size() == size_);
  for (std::size_t block = blocks_.size(); block-- > 0;) {
    const std::size_t first = block * kRows;
    const std::size_t count = std::min(kRows, size_ - first);
    const double* rows = at(first);
    Eight y{};
    std::copy_n(&b[first], count, y.begin());
    for (std::size_t r = count; r-- > 0;) {
      const double* row = rows + r * width(block) + first;
      y[r] /= row[r];
      for (std::size_t c = 0; c < r; ++c) y[c] -= row[c] * y[r];
    }
    std::copy_n(y.begin(), count, &b[first]);
    subtract(rows, width(block), y, b.data(), first);
  }
}

void Cholesky::solve_few(std::span<double> b, std::size_t columns) const {
  const std::size_t stride = (columns + kTile - 1) / kTile * kTile;
  RowMajor x = RowMajor::Zero(to_index(blocks_.size() * kRows), to_index(stride));
  x.topLeftCorner(to_index(size_), to_index(columns)) = rows_of(b, columns);
  for (std::size_t first = 0; first < size_; first += kRows) {
    const double* rows = at(first);
    const std::size_t wide = width(first / kRows), count = std::min(kRows, size_ - first);
    double* here = x.data() + first * stride;
    for (std::size_t tile = 0; tile < stride; tile += kTile) {
      for (std::size_t r = 0; r < count; r += kRows / 2)
        subtract_product(rows + r * wide, wide, x.data() + tile, here + r * stride + tile, stride,
                         first);
    }
    for (std::size_t r = 0; r < count; ++r) {
      const double* row = rows + r * wide + first;
      auto solved = x.row(to_index(first + r));
      for (std::size_t c = 0; c < r; ++c) solved -= row[c] * x.row(to_index(first + c));
      solved /= row[r];
    }
  }
  rows_of(b, columns) = x.topLeftCorner(to_index(size_), to_index(columns));
}

void Cholesky::solve(std::span<double> b, std::size_t columns) const {
  assert(b.size() == size_ * columns);
  if (columns == 0) return;
  if (columns <= kFewColumns) return solve_few(b, columns);
  RowMajor x = rows_of(b, columns);
  for (std::size_t first = 0; first < size_; first += kPanel) {
    const std::size_t count = std::min(kPanel, size_ - first);
    const RowMajor panel = unpacked(*this, first, count);
    auto here = x.middleRows(to_index(first), to_index(count));
    here.noalias() -= panel.leftCols(to_index(first)) * x.topRows(to_index(first));
    panel.rightCols(to_index(count)).triangularView<Eigen::Lower>().solveInPlace(here);
  }
  rows_of(b, columns) = x;
}

double Cholesky::log_determinant() const {
  double sum = 0;
  for (std::size_t i = 0; i < size_; ++i) sum += std::log(at(i)[i]);
  return 2 * sum;
}

std::size_t Cholesky::bytes() const {
  std::size_t numbers = 0;
  for (std::size_t block = 0; block < blocks_.size(); ++block) numbers += kRows * width(block);
  return numbers * sizeof(double) + blocks_.capacity() * sizeof(blocks_[0]);
}

}  // namespace detol::inline surrogate

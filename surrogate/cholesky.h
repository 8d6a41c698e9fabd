#pragma once

// Cholesky: the lower factor L of a symmetric positive definite matrix that grows and shrinks
// at its end, in double precision. A row costs one pass over L (n^2 / 2 multiply-adds, bound by
// memory from n = 1000 on), a pop nothing. Rows are packed, so n rows take little more than
// 8 n (n + 1) / 2 bytes, and growing moves none of them.
//
//   K' = [K  k; k^T c],  L q = k,  d = sqrt(c - q.q),  L' = [L 0; q^T d]
//
// Every row is a function of the rows before it and of its own k and c alone, to the last bit,
// however the rows came to be grouped in calls; but for factorise(), which is a function of its
// whole matrix. Can be moved, not copied. Not thread-safe; const members may run side by side.

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace detol::inline surrogate {

class Cholesky {
 public:
  // A pivot d^2 below this share of the diagonal counts as zero: the row is a copy of others.
  static constexpr double kLeastPivot = 1e-13;

  static constexpr std::size_t kRows = 8;  // rows that a solve reads at a time

  Cholesky() = default;

  std::size_t size() const { return size_; }

  // Appends a row: `k` is its size() products with those before, `diagonal` that with itself.
  // Returns false and changes nothing if the matrix would not be positive definite (kLeastPivot) or
  // finite. `begun` is the begin of a row that append() made of the same k and the same first
  // begun.size() rows; it saves the time to compute it again and changes no bit. The first
  // begun.size() numbers of k are not read then.
  bool append(std::span<const double> k, double diagonal, std::span<const double> begun = {});

  // Drops the last rows. REQUIRES: size <= size().
  void truncate(std::size_t size);

  // Replaces everything by the factor of `matrix`, row-major n x n, of which the lower triangle is
  // read. O(n^3 / 3), and 8 n^2 bytes meanwhile. Returns false, and is empty then, if a pivot is
  // below kLeastPivot or not finite.
  bool factorise(std::span<const double> matrix, std::size_t n);

  void solve(std::span<double> b) const;             // b := L^-1 b
  void solve_transposed(std::span<double> b) const;  // b := L^-T b

  // Returns the last entry of L^-1 b, given those before it and b's own last, equal to that of
  // solve() to the last bit. O(n). REQUIRES: solved.size() + 1 == size().
  double solve_last(std::span<const double> solved, double b) const;

  // Solves for many right-hand sides at once: `b` is row-major size() x columns. Bound by the
  // processor, not by memory; equal to single solves but for rounding.
  void solve(std::span<double> b, std::size_t columns) const;

  // Returns row i of L: i + 1 numbers. Valid until the row is dropped.
  std::span<const double> row(std::size_t i) const { return {at(i), i + 1}; }

  double log_determinant() const;  // of L L^T
  std::size_t bytes() const;       // of memory held

 private:
  // kRows rows stand in a block of their own, each as wide as the last of them and so aligned to
  // 64 bytes. Behind their diagonals, and below the last row, all numbers are finite.
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(double* block) const { ::operator delete[](block, kAlignment); }
  };

  static std::size_t width(std::size_t block) { return kRows * (block + 1); }
  double* at(std::size_t i) const {
    return blocks_[i / kRows].get() + i % kRows * width(i / kRows);
  }
  void hold(std::size_t rows);
  // Solves by the first b.size() rows, of which b's first `solved` numbers are solved already.
  void solve_first(std::span<double> b, std::size_t solved = 0) const;
  void solve_few(std::span<double> b, std::size_t columns) const;

  std::size_t size_ = 0;
  std::vector<std::unique_ptr<double[], Free>> blocks_;
};

}  // namespace detol::inline surrogate

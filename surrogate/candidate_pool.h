#pragma once

// CandidatePool: the posterior of a Gaussian process at m fixed candidates C, kept up to date
// while observations are appended and dropped. It keeps V = L^-1 K(X, C), a row of m numbers per
// observation in single precision, and for every candidate the sums
//
//   v.z  with z = L^-1 y      v.o  with o = L^-1 1      v.v
//
// in double precision, so that a new observation costs one pass over V (n m multiply-adds; no
// solve) and the posterior nothing:
//
//   mean(c) = m + v.z - m v.o        variance(c) = k(c, c) - v.v
//
// for the process's constant mean m. Not thread-safe.

#include <cstddef>
#include <span>
#include <vector>

#include "surrogate/cholesky.h"

namespace detol {

class CandidatePool {
 public:
  explicit CandidatePool(std::size_t candidates);

  std::size_t candidates() const { return with_z_.size(); }
  std::size_t observations() const { return observations_; }

  // The observation that became the last row of `factor`: `kernel` is its m kernel values with the
  // candidates, z and o its entries of L^-1 y and L^-1 1.
  // REQUIRES: factor.size() == observations() + 1.
  void append(const Cholesky& factor, std::span<const double> kernel, double z, double o);

  // All rows of a factor at once: `kernel` is row-major n x m.
  void assign(const Cholesky& factor, std::span<const double> kernel, std::span<const double> z,
              std::span<const double> o);

  // Drops the last observations; the sums are again what they were before those, to the last bit.
  void truncate(std::size_t observations);

  // The outcomes changed: recomputes v.z from all of z. O(n m).
  void replace_outcomes(std::span<const double> z);

  std::span<const double> with_z() const { return with_z_; }
  std::span<const double> with_o() const { return with_o_; }
  std::span<const double> squares() const { return squares_; }
  std::size_t bytes() const;

 private:
  std::size_t observations_ = 0;
  std::vector<double> with_z_, with_o_, squares_;
};

}  // namespace detol

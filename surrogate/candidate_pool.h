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
// for the process's constant mean m. The sums are functions of V, z and o alone, added up in the
// order of the observations. Not thread-safe; const members may run side by side.

#include <cstddef>
#include <span>
#include <vector>

#include "surrogate/cholesky.h"

namespace detol::inline surrogate {

class CandidatePool {
 public:
  explicit CandidatePool(std::size_t candidates) : sums_(candidates), kept_(candidates) {}

  std::size_t candidates() const { return sums_.with_z.size(); }
  std::size_t observations() const { return z_.size(); }

  // Appends an observation: `l` is its row of the factor, up to the diagonal, `kernel` its m kernel
  // values with the candidates, z and o its entries of L^-1 y and L^-1 1. O(n m).
  // REQUIRES: l.size() == observations() + 1.
  // From `kernel` rows before `first` are subtracted already; that changes no bit.
  void append(std::span<const double> l, std::span<const double> kernel, double z, double o,
              std::size_t first = 0);

  // Subtracts rows [first, last) of V from the kernel values of a new observation, as append()
  // does: times the entries of `l`, that observation's row of the factor.
  void subtract(std::span<const double> l, std::size_t first, std::size_t last,
                std::span<double> kernel) const;

  // Replaces everything by all rows of a factor: `kernel` is row-major n x m. O(n^2 m), bound by
  // the processor, and 1 kB n meanwhile. V equals that of single appends but for rounding.
  // REQUIRES: as many z and o as factor.size().
  void assign(const Cholesky& factor, std::span<const double> kernel, std::span<const double> z,
              std::span<const double> o);

  // Drops the last observations; the sums are again what they were before those, to the last bit.
  // O(n m), as an append, if it drops any; only the rows after keep_sums() count, if it keeps
  // those before. REQUIRES: no more than there are.
  void truncate(std::size_t observations);
  void keep_sums();  // of the present observations

  // Recomputes v.z for changed outcomes, from all of z. O(n m).
  void replace_outcomes(std::span<const double> z);

  std::span<const double> with_z() const { return sums_.with_z; }
  std::span<const double> with_o() const { return sums_.with_o; }
  std::span<const double> squares() const { return sums_.squares; }
  std::size_t bytes() const;  // of memory held

 private:
  // Returns row i of V. Blocks have Cholesky::kRows rows each, so that growing moves none of them.
  const float* at(std::size_t i) const;
  float* at(std::size_t i);
  void hold(std::size_t observations);
  template <std::size_t kCount>
  void add(std::size_t first);  // adds rows [first, first + kCount) to the sums, in their order
  void sum_up();                // computes the sums from the rows after the kept ones

  // Sums: for each candidate.
  struct Sums {
    explicit Sums(std::size_t candidates)
        : with_z(candidates), with_o(candidates), squares(candidates) {}
    std::vector<double> with_z, with_o, squares;
    std::size_t observations = 0;
  };

  std::vector<std::vector<float>> blocks_;
  std::vector<double> z_, o_;
  Sums sums_, kept_;
};

}  // namespace detol::inline surrogate

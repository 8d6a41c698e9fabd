#pragma once

// Parzen: a density over the genomes of a space: a kernel around each of some observations, and the
// uniform density as one more, which weighs as much as the mean of them.
//
//   p(x) = sum_i w_i prod_j k_j(x_j; o_ij)        over observations i and choices j
//
// Densities are relative to the uniform one: where a choice of either x or o does not count (it is
// inactive, or the network makes no use of it), k is 1. So one density spans all branches of a
// conditional space, and each choice depends only on the observations that have it.
//
//   kernel of              k, with b from the n observations that have the choice
//   a float, a fine grid   normal of deviation b, cut at the ends of the range (its logarithm's)
//   a coarse grid          the same normal's share of each value
//   other words            1 - b + b / C for the same, b / C for others, b = C / (n + C)
//                          (Aitchison and Aitken, 1976, "Multivariate Binary Discrimination by the
//                          Kernel Method", Biometrika 63; Laplace's rule of succession for b)
//
// Immutable; safe to share between threads; it refers to the Axes and the observations.

#include <cstddef>
#include <span>
#include <vector>

#include "core/rng.h"
#include "encodings/space/space.h"

namespace detol::inline search {

// Axes: the choices of a space as coordinates for kernels. Immutable; safe to share between
// threads.
class Axes {
 public:
  enum class Kind {
    kRange,  // numbers: coordinates are positions in the unit interval
    kGrid,   // few values whose neighbours are similar: coordinates are their numbers
    kWords,  // values without an order: coordinates are their numbers
  };
  struct Axis {
    Kind kind;
    std::size_t values = 0;          // of a grid, or words
    std::vector<double> edges = {};  // of a grid: the slices of the unit interval for its values
  };

  explicit Axes(Space space);

  const Space& space() const { return space_; }
  std::size_t size() const { return axes_.size(); }
  const Axis& operator[](std::size_t i) const { return axes_[i]; }

  // Returns one coordinate per choice, NaN for those that do not count.
  std::vector<double> coordinates_of(const Genome& genome) const;

 private:
  Space space_;
  std::vector<Axis> axes_;
};

struct Observation {
  const Genome* genome;
  std::span<const double> coordinates;
  double weight = 1;  // above 0
};

// Bandwidth: the deviation b of the kernels of numbers, for n observations of d choices on average.
enum class Bandwidth {
  kFixed,  // 0.2 n^(-1 / (d + 4)), the whole range being 1
  // 1.06 s n^(-1 / (d + 4)) (Scott, 1992, "Multivariate Density Estimation"), where the variance
  // s^2 counts the uniform density as one more observation, so that b is at least 0.03 for n up to
  // 25
  kScott,
};

class Parzen {
 public:
  // Price: O(n d).
  Parzen(const Axes& axes, std::vector<Observation> observations, Bandwidth bandwidth);

  // Draws a genome from the kernel of a random observation, or a uniform one, and repairs it to
  // obey the space's rules. Price: O(d).
  Genome draw(Rng& rng) const;

  // Returns the logarithm of the density at a genome's coordinates. Price: O(n d).
  double log_density(std::span<const double> coordinates) const;

 private:
  struct Column {                     // of one choice
    double bandwidth = 0;             // b
    std::vector<double> center;       // range: of each observation
    std::vector<double> precision;    // range: 1 / (2 b^2); 0 if the choice does not count
    std::vector<double> height;       // range: log k at the center
    std::vector<std::size_t> number;  // else: of each observation; `values` if it does not count
  };

  void weigh();
  double mean_choices() const;
  double deviation_of(std::size_t axis, double choices, Bandwidth bandwidth) const;
  void fill_numbers(std::size_t axis);
  void fill_range(std::size_t axis);
  double code_near(const Observation& observation, std::size_t axis, Rng& rng) const;
  std::vector<double> kernels_at(std::size_t axis, std::size_t number) const;
  void add_kernels(std::size_t axis, double coordinate, std::span<double> sums) const;

  const Axes& axes_;
  std::vector<Observation> observations_;
  std::vector<double> cumulated_;    // weights
  std::vector<double> log_weights_;  // of the observations; then of the uniform density
  std::vector<Column> columns_;
};

}  // namespace detol::inline search

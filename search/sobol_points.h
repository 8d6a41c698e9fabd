#pragma once

// SobolPoints: points that fill the unit cube evenly: any 2^k consecutive ones from a multiple of
// 2^k on, and each projection of them, leave smaller gaps than random points do. Immutable; safe
// to share between threads. Price: d x 128 bytes; a point some 100 nanoseconds per coordinate.
//
// The sequence is Sobol's (1967), with the direction numbers of Joe and Kuo (2008, "Constructing
// Sobol Sequences with Better Two-Dimensional Projections", SIAM J. Sci. Comput. 30), as Boost has
// them. Each seed scrambles it anew (Owen, 1995, "Randomly Permuted (t,m,s)-Nets and
// (t,s)-Sequences"): every point is uniform, and the evenness stays. The scrambling's random tree
// is hashed, not stored (Burley, 2020, "Practical Hash-based Owen Scrambling", JCGT 9).

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace detol::inline search {

class SobolPoints {
 public:
  SobolPoints(std::size_t dimensions, std::uint64_t seed);

  std::size_t dimensions() const { return dimensions_; }

  // Returns point number `i`, each coordinate in [0, 1). The sequence repeats after 2^32 points.
  // Coordinates above the 3,667 that Boost has are independent uniform numbers.
  std::vector<double> point(std::uint64_t i) const;

 private:
  static constexpr std::size_t kBits = 32;

  std::size_t dimensions_;
  std::uint64_t seed_;
  std::vector<std::array<std::uint32_t, kBits>> directions_;  // one per dimension that Boost has
};

}  // namespace detol::inline search

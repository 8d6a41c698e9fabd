#include "search/sobol_points.h"

#include <algorithm>
#include <bit>

#include <boost/random/sobol.hpp>

#include "core/hash.h"

namespace detol::inline search {
namespace {

using Engine = boost::random::sobol_engine<std::uint32_t, 32>;

constexpr std::size_t kMostDimensions = boost::random::default_sobol_table::max_dimension;
constexpr unsigned kLevels = 6;  // of a subtree, whose 63 nodes fit in one hash

// Applies Owen's nested uniform scrambling: a bit is flipped if its node of a random binary tree is
// 1; the bits above it are the path to the node.
std::uint32_t scrambled(std::uint32_t digits, std::uint64_t tree) {
  std::uint32_t flips = 0;
  std::uint64_t subtree = 0;
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint64_t above = bit == 0 ? 0 : digits >> (32 - bit);
    const unsigned level = bit % kLevels;
    if (level == 0) subtree = hash_combine(tree, (std::uint64_t{1} << bit) + above);
    const std::uint64_t within = above & ((std::uint64_t{1} << level) - 1);
    const std::uint64_t node = (std::uint64_t{1} << level) + within;
    flips |= static_cast<std::uint32_t>(subtree >> node & 1) << (31 - bit);
  }
  return digits ^ flips;
}

double in_unit_interval(std::uint64_t digits, unsigned bits) {
  return static_cast<double>(digits) / static_cast<double>(std::uint64_t{1} << bits);
}

}  // namespace

SobolPoints::SobolPoints(std::size_t dimensions, std::uint64_t seed)
    : dimensions_(dimensions), seed_(seed), directions_(std::min(dimensions, kMostDimensions)) {
  if (directions_.empty()) return;
  Engine engine(directions_.size());
  for (std::size_t bit = 0; bit < kBits; ++bit) {
    // Boost leaves out the point at zero and walks in Gray code: at this position the point is
    // direction number `bit` alone.
    engine.seed(static_cast<std::uint32_t>((std::uint64_t{2} << bit) - 2));
    for (auto& direction : directions_) direction[bit] = engine();
  }
}

std::vector<double> SobolPoints::point(std::uint64_t i) const {
  std::vector<double> coordinates;
  coordinates.reserve(dimensions_);
  for (std::size_t d = 0; d < dimensions_; ++d) {
    const std::uint64_t tree = hash_combine(seed_, d);
    if (d >= directions_.size()) {
      coordinates.push_back(in_unit_interval(hash_combine(tree, i) >> 11, 53));
      continue;
    }
    std::uint32_t digits = 0;
    for (auto left = static_cast<std::uint32_t>(i); left != 0; left &= left - 1)
      digits ^= directions_[d][static_cast<std::size_t>(std::countr_zero(left))];
    coordinates.push_back(in_unit_interval(scrambled(digits, tree), 32));
  }
  return coordinates;
}

}  // namespace detol::inline search

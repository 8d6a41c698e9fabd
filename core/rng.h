#pragma once

// Rng: a named, splittable stream of random numbers (Philox 4x32-10, Salmon et al.,
// SC'11, through Random123). Counter-based: equal keys give equal streams on every
// machine and at every worker count, and a stream can be entered at any position.
// Cheap to copy; not thread-safe.

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace detol::inline core {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : key_(seed) {}

  // Returns a stream independent of this one. It depends on this stream's key and `key` alone,
  // not on how much of this stream was drawn.
  Rng split(std::uint64_t key) const;

  std::uint64_t next();                     // uniform over all 64-bit words
  void skip(std::uint64_t words);           // as if next() were called so often
  double uniform();                         // [0, 1)
  double uniform(double low, double high);  // [low, high)
  double normal();                          // mean 0, variance 1 (Box-Muller)
  std::uint64_t below(std::uint64_t n);     // [0, n), unbiased; REQUIRES: n > 0
  bool chance(double probability) { return uniform() < probability; }

  template <typename T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;             // blocks drawn
  std::array<std::uint64_t, 2> block_{};  // the current block
  unsigned left_ = 0;                     // unused words of block_
};

}  // namespace detol::inline core

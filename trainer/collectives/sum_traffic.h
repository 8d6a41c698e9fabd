#pragma once

// Sum traffic: what one rank of a group sends in a sum, in closed form. Sums choose their way by it
// (mpi_sum.h), and so do compressions: none may send more than plain floats would.
//
// In one round every rank sends all n values to each of p ranks, in two rounds about 2 n values: p
// / 2 times less. One round is faster where a message costs more than its bytes
// (experiments/trainer/LOG.md: 2 to 4 ranks). The values that a rank receives in it are
// limited, and with them the memory that they take:
//
//   ranks     2        4       8      64
//   n up to   32,768   16,384  8,192  1,024

#include <cstddef>

namespace detol::inline trainer {

// Of all ranks together.
inline constexpr std::size_t kMostValuesOfARound = std::size_t{1} << 16;

// Returns whether so many values are summed in one round. Their type plays no part: halves go the
// way that floats go, so that they are always half the bytes.
constexpr bool is_one_round(std::size_t values, int ranks) {
  return values * static_cast<std::size_t>(ranks) <= kMostValuesOfARound;
}

// Returns the most values of the part that a rank adds up.
constexpr std::size_t largest_part(std::size_t values, int ranks) {
  const auto all = static_cast<std::size_t>(ranks);
  return is_one_round(values, ranks) ? values : (values + all - 1) / all;
}

// Returns the values that a rank sends in a sum, the most of any rank. In two rounds it sends the
// others their parts, then its own to each of them.
constexpr std::size_t values_sent_by_sum(std::size_t values, int ranks) {
  const std::size_t others = static_cast<std::size_t>(ranks) - 1;
  const std::size_t own = largest_part(values, ranks);
  return is_one_round(values, ranks) ? others * values : values - own + others * own;
}

// Returns the bytes in which a rank receives the values of others, of `each` bytes.
constexpr std::size_t bytes_received_by_sum(std::size_t values, std::size_t each, int ranks) {
  return largest_part(values, ranks) * static_cast<std::size_t>(ranks) * each;
}

// Returns the bytes that a rank sends where all gather so many bytes of each.
constexpr std::size_t bytes_sent_by_gather(std::size_t own, int ranks) {
  return (static_cast<std::size_t>(ranks) - 1) * own;
}

}  // namespace detol::inline trainer

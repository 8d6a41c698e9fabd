#pragma once

// Group: the ranks that train one trial together, each a process with its own shard of every
// batch. All ranks make the same calls in the same order; a call returns when every rank made
// it. A rank that dies leaves the others waiting: whoever started the group ends them.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/half.h"

namespace detol::inline trainer {

class Group {
 public:
  virtual ~Group() = default;

  virtual int rank() const = 0;  // 0: the leader
  virtual int size() const = 0;

  // The sum over all ranks replaces the values; the same bits on every rank. Halves are added up
  // in single precision, and the sum is rounded once.
  virtual void sum(std::span<float> values) = 0;
  virtual void sum(std::span<double> values) = 0;
  virtual void sum(std::span<Half> values) = 0;

  // The bytes of all ranks, in their order, on every rank. REQUIRES: as many of each rank;
  // all.size() == size() x own.size().
  virtual void gather(std::span<const std::byte> own, std::span<std::byte> all) = 0;

  // The same, made while the caller works: it calls advance() now and then, and finish() before it
  // reads or writes the values. Several may be in flight, and the calls above and share() be made
  // meanwhile; all ranks start the same ones in the same order, and their tickets rise.
  using Ticket = std::uint64_t;
  static constexpr Ticket kAll = std::numeric_limits<Ticket>::max();
  virtual Ticket start_sum(std::span<float> values) { return sum(values), 0; }
  virtual Ticket start_sum(std::span<double> values) { return sum(values), 0; }
  virtual Ticket start_sum(std::span<Half> values) { return sum(values), 0; }
  virtual Ticket start_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    return gather(own, all), 0;
  }
  virtual void advance() {}
  // Waits for all that was started up to `last`.
  virtual void finish(Ticket /*last*/ = kAll) {}

  // The bytes of rank `from`, on every rank. Waits without burning a core, however long.
  virtual std::string share(std::string bytes, int from = 0) = 0;
};

// A group of one: costs nothing.
Group& alone();

// Returns, on every rank, the word of the first rank that has one; empty if none has.
std::string first_word(std::string word, Group& group);

}  // namespace detol::inline trainer

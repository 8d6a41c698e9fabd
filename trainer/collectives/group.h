#pragma once

// Group: the ranks that train one trial together, each a process with its own shard of every
// batch. All ranks make the same calls in the same order; a call returns when every rank has made
// it. If a rank dies, the others wait until the process that started the group ends them.

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

  // Replace the values by their sum over all ranks, bit-identical on every rank. Halves are added
  // up in single precision, and the sum is rounded once.
  virtual void sum(std::span<float> values) = 0;
  virtual void sum(std::span<double> values) = 0;
  virtual void sum(std::span<Half> values) = 0;

  // Writes the bytes of all ranks to `all`, in rank order, on every rank. REQUIRES: equally many of
  // each rank; all.size() == size() x own.size().
  virtual void gather(std::span<const std::byte> own, std::span<std::byte> all) = 0;

  // The same without blocking: the caller calls advance() now and then, and finish() before it
  // reads or writes the values. Several may be in flight, and the calls above and share() may be
  // made meanwhile; all ranks start the same ones in the same order, and their tickets rise.
  using Ticket = std::uint64_t;
  static constexpr Ticket kAll = std::numeric_limits<Ticket>::max();
  virtual Ticket start_sum(std::span<float> values) { return sum(values), 0; }
  virtual Ticket start_sum(std::span<double> values) { return sum(values), 0; }
  virtual Ticket start_sum(std::span<Half> values) { return sum(values), 0; }
  virtual Ticket start_gather(std::span<const std::byte> own, std::span<std::byte> all) {
    return gather(own, all), 0;
  }
  virtual void advance() {}
  // Waits for all that were started up to `last`.
  virtual void finish(Ticket /*last*/ = kAll) {}

  // Returns the bytes of rank `from`, on every rank. Sleeps while it waits.
  virtual std::string share(std::string bytes, int from = 0) = 0;
};

// Returns a group of one rank, whose calls cost nothing.
Group& alone();

// Returns, on every rank, the message of the first rank whose message is not empty; empty if there
// is none.
std::string first_nonempty_message(std::string message, Group& group);

}  // namespace detol::inline trainer

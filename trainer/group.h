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

namespace detol {

struct Choices;  // choices.h

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
  // reads or writes the values. Several may be under way, and the calls above and share() be made
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

// What the first rank with something to say says, on every rank; empty if nobody has.
std::string first_word(std::string word, Group& group);

// What of `total` images is this rank's: contiguous, without overlap, sizes that differ by at
// most one, the larger ones first.
struct Shard {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
Shard shard_of(std::int64_t total, const Group& group);

// How a rank goes about a batch.
struct Placement {
  Group* group = &alone();  // outlives whoever is placed
  int micro_batches = 1;    // parts of the shard, one after the other: less memory
  // By which ways shapes are computed, the same on every rank; what it has no word on, and all of
  // it where there is none, goes by the backend's fixed rule.
  const Choices* choices = nullptr;
};

// The parts of a batch that a rank trains in one step: its shard, in micro_batches parts or, where
// a shard has fewer images, in one part per image of the smallest. Equally many on every rank;
// none is larger than the first. REQUIRES: batch >= size of the group, micro_batches >= 1.
std::vector<Shard> parts_of(std::int64_t batch, const Placement& placement);

// Images of the leader's first part, the largest of any rank: what is decided by the size of a
// run, and must not depend on the rank, goes by it. REQUIRES: as above.
std::int64_t largest_part(std::int64_t batch, const Placement& placement);

}  // namespace detol

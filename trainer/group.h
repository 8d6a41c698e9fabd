#pragma once

// Group: the ranks that train one trial together, each a process with its own shard of every
// batch. All ranks make the same calls in the same order; a call returns when every rank made
// it. A rank that dies leaves the others waiting: whoever started the group ends them.

#include <cstdint>
#include <span>
#include <string>

namespace detol {

class Group {
 public:
  virtual ~Group() = default;

  virtual int rank() const = 0;  // 0: the leader
  virtual int size() const = 0;

  // The sum over all ranks replaces the values; the same bits on every rank.
  virtual void sum(std::span<float> values) = 0;
  virtual void sum(std::span<double> values) = 0;

  // The leader's bytes, on every rank. Waits without burning a core, however long.
  virtual std::string share(std::string bytes) = 0;
};

// A group of one: costs nothing.
Group& alone();

// What of a batch of `total` images is this rank's: contiguous, without overlap, sizes that
// differ by at most one. REQUIRES: total >= group.size().
struct Shard {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
Shard shard_of(std::int64_t total, const Group& group);

}  // namespace detol

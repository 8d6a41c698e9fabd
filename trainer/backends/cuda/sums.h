#pragma once

// Sums: what the ranks of a group add up on their devices. By NCCL, as work of the stream that a
// graph can hold, where every rank has a device of its own and this build has NCCL; else the host
// does it, through Group. Private to this folder.

#include <memory>
#include <string>

#include "core/result.h"
#include "trainer/backends/cuda/kernels.h"
#include "trainer/collectives/group.h"

namespace detol::inline trainer::cuda {

class Sums {
 public:
  explicit Sums(Group& group) : group_(group) {}
  virtual ~Sums() = default;

  Group& group() const { return group_; }
  int ranks() const { return group_.size(); }

  // True if the calls below are work of the stream; else they wait for it, and for the ranks.
  virtual bool is_on_device() const { return false; }
  // The sum over all ranks replaces the values, which are the device's.
  virtual void sum(float* values, std::size_t count);
  virtual void sum(double* values, std::size_t count);

 private:
  Group& group_;
};

// NCCL's, kept for the life of the process and the group; null where this build has none, or ranks
// share a device. All ranks make the same call.
std::unique_ptr<Sums> make_device_sums(Group& group);
std::string nccl_version();  // empty: this build has none

// The best there is.
std::unique_ptr<Sums> make_sums(Group& group);

}  // namespace detol::inline trainer::cuda

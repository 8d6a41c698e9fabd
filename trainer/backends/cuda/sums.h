#pragma once

// RankSums adds up values on the devices of a group's ranks: by NCCL, as work of the stream that a
// graph can contain, if every rank has a device of its own and this build has NCCL; else on the
// host, through Group. Private to this folder.

#include <memory>
#include <string>

#include "core/result.h"
#include "trainer/backends/cuda/kernels.h"
#include "trainer/collectives/group.h"

namespace detol::inline trainer::cuda {

class RankSums {
 public:
  explicit RankSums(Group& group) : group_(group) {}
  virtual ~RankSums() = default;

  Group& group() const { return group_; }
  int ranks() const { return group_.size(); }

  // Returns true if the calls below append to the stream; else they wait for it and for the ranks.
  virtual bool is_on_device() const { return false; }
  // Replaces values on the device by their sum over all ranks.
  virtual void sum(float* values, std::size_t count);
  virtual void sum(double* values, std::size_t count);

 private:
  Group& group_;
};

// Returns sums by NCCL, whose communicator is kept for the group's later candidates; null if this
// build has no NCCL, or ranks share a device. All ranks make the same call.
std::unique_ptr<RankSums> make_device_sums(Group& group);
std::string nccl_version();  // empty: this build has none

// Returns sums by NCCL if possible, else on the host.
std::unique_ptr<RankSums> make_sums(Group& group);

}  // namespace detol::inline trainer::cuda

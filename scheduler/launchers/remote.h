#pragma once

// Workers that a program such as srun or ssh starts for a run, maybe on other machines: each is a
// `detol worker --join STUDY` that joins the master over the network, restarted like a local one
// when that program ends.

#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

// A worker to start, as the supervisor numbers it.
struct RemoteWorker {
  std::string study;
  std::string storage;  // absolute
  int number = 0;
  int start = 0;  // of the run
};

// RemoteWorkers says how many there are and with which words each is started; the first word is an
// absolute path.
struct RemoteWorkers {
  int count = 0;
  std::function<std::vector<std::string>(const RemoteWorker&)> words;
};

// Returns the words that make this program the worker, without a launcher's. `slot` is its number
// among the workers of its machine.
std::vector<std::string> worker_words(const RemoteWorker& worker, int ranks, int slot);

// Steps of the Slurm allocation that this process is in: one per group, as many as its tasks, GPUs
// or CPUs have room for on each node, at most `options.workers` if that is given. Errors (kUsage):
// no allocation, no srun, no room.
Result<RemoteWorkers> slurm_workers(const RunOptions& options);

// Returns the ranks that each node of this Slurm allocation has room for; none without one.
std::vector<int> slurm_devices(const RunOptions& options);

// ssh to options.hosts, "a" or "a:3" for three workers there; options.ssh replaces `ssh`. Errors
// (kUsage): no hosts, a malformed one, no ssh.
Result<RemoteWorkers> ssh_workers(const RunOptions& options);

// Expands Slurm's list of counts per node, "2(x3),1" to {2, 2, 2, 1}; empty if it is malformed.
std::vector<int> counts_per_node(std::string_view text);

}  // namespace detol::inline scheduler

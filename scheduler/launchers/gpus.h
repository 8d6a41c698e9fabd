#pragma once

// GPUs and workers: which one each trains on, how many share one, and what that leaves each of
// them. A process sees one GPU alone: whatever it loads then takes that.

#include <filesystem>
#include <string>
#include <vector>

#include "scheduler/processes/group_launch.h"
#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

inline constexpr int kMostSharing = 8;  // workers of one GPU

// Bytes of a GPU that a worker has before it trains: a context and what the libraries keep. And
// what shall be left to it beside its network, for workspaces too, where it has the choice.
inline constexpr double kWorkerNeeds = 5e8;
inline constexpr double kWorkerReserve = 1.5e9;

// Returns how many workers find room on a GPU beside each other, at least 1 and at most
// kMostSharing, if each needs so many bytes for its data and its network.
int sharing_for(double gpu_memory, double bytes_wanted);

// Ranks that train on a GPU of this machine, on average; 1 where each has a device of its own.
double seats_per_gpu(const RunOptions& options);

// Bytes that a worker may count on for its networks: the smallest GPU's, shared by as many as
// train on one. REQUIRES: options.gpus.
double share_of_gpu(const RunOptions& options);

// NVIDIA's MPS, for workers of which several share a GPU: without it they take turns. No words: it
// is not needed or not there, or somebody else runs one already.
Service mps_service(const RunOptions& options, const std::filesystem::path& folder);

// Leaves the calling process one of these, in turn by `seat`; it must not have loaded anything that
// looks at devices. Does nothing where there are none. REQUIRES: the process has one thread.
void take_gpu(const std::vector<Gpu>& gpus, int seat);

// NVIDIA's control program of MPS, by which processes share a GPU at the same instant; empty: it is
// not on the PATH.
std::string mps_program();

// The place of this process among those of its MPI job that run on the same machine; 0 outside of
// a job.
int place_on_machine();

}  // namespace detol::inline scheduler

#pragma once

// How workers share the GPUs of a machine: which GPU each worker trains on, how many share one, and
// how much memory each has. A process sees one GPU only, so that all its libraries use that one.

#include <filesystem>
#include <string>
#include <vector>

#include "scheduler/processes/group_launch.h"
#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

inline constexpr int kMostSharing = 8;  // workers of one GPU

// kWorkerNeeds: bytes of a GPU that a worker uses before it trains, for a context and for
// libraries. kWorkerReserve: bytes that sharing_for() leaves each worker beside its data and
// network, for workspaces too.
inline constexpr double kWorkerNeeds = 5e8;
inline constexpr double kWorkerReserve = 1.5e9;

// Returns how many workers fit on a GPU together, at least 1 and at most kMostSharing, if each
// needs `bytes_wanted` for its data and its network.
int sharing_for(double gpu_memory, double bytes_wanted);

// Returns the ranks per GPU of this machine, on average; 1 if each rank has a device of its own.
double ranks_per_gpu(const RunOptions& options);

// Returns the bytes that a worker has for its networks: for each of its ranks, its share of the
// smallest GPU, which `on_one` ranks share, less kWorkerNeeds; without GPUs the memory that this
// process may use.
double worker_memory(const std::vector<Gpu>& gpus, int ranks, double on_one);

// Returns the service that runs NVIDIA's MPS, without which workers that share a GPU take turns on
// it. Its words are empty if MPS is not needed, not installed, or already running. Where more than
// two share one, each gets twice its share of the multiprocessors, unless the environment says how
// much: small kernels run side by side on parts of a GPU, and wait for each other on all of it.
Service mps_service(const RunOptions& options, const std::filesystem::path& folder);

// Makes `count` GPUs from number `first` (modulo their count) the only ones that the calling
// process sees. Does nothing if there are none. REQUIRES: the process has one thread and has loaded
// no library that looks for devices.
void select_gpus(const std::vector<Gpu>& gpus, int first, int count = 1);

// Binds the calling process, and what it will start, to its share of the cores that it may use, as
// worker number `worker` of `workers`; does nothing if there are fewer cores than workers.
void bind_to_cores(int worker, int workers);

// Returns the path of NVIDIA's MPS control program; empty if it is not on the PATH. With MPS,
// processes use a GPU at the same instant.
std::string mps_program();

// Returns the local rank of this process: its number among the processes of its MPI job on this
// machine; 0 outside of a job.
int local_rank();

}  // namespace detol::inline scheduler

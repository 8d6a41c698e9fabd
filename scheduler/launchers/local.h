#pragma once

// Workers on this machine: how many, of how many ranks, and what starts one.

#include "core/result.h"
#include "scheduler/processes/group_launch.h"
#include "scheduler/processes/run_folder.h"
#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

// Ranks of one worker: the option, else the study's, else 1.
int ranks_of(const RunOptions& options);

// Workers of a run: the option, else the study's, else as many as the cores or, where GPUs train,
// those have room for.
int workers_of(const RunOptions& options);

// One rank is a plain process, more are an MPI job, which keeps its files in the run's folder.
// Errors (kUsage): there is no mpiexec.
Result<GroupLaunch> local_launch(int ranks, const RunFolder& folder);

// The same check, before there is a folder.
Result<void> check_launcher(int ranks);

// Forgets the MPI job that this process is the only one of, so that it can start jobs itself: Open
// MPI refuses a job inside a job. REQUIRES: the process has one thread.
void forget_own_mpi_job();

}  // namespace detol::inline scheduler

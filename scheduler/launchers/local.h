#pragma once

// Workers on this machine: how many, with how many ranks, and how they are started.

#include "core/result.h"
#include "scheduler/processes/group_launch.h"
#include "scheduler/processes/run_folder.h"
#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

// Returns the ranks of one worker: the option, else the study's, else 1.
int ranks_of(const RunOptions& options);

// Returns the workers that a run starts: the option, else the study's, else as many as fit on the
// GPUs, or, if there are none, on the cores.
int workers_of(const RunOptions& options);

// Says, once, that a run starts more processes than there are cores for.
void say_if_cores_are_shared(const RunOptions& options);

// Returns how to start a worker: one rank is a plain process, more are an MPI job, which keeps its
// files in the run's folder. Errors (kUsage): there is no mpiexec.
Result<GroupLaunch> local_launch(int ranks, const RunFolder& folder);

// Makes the same check as local_launch(), before there is a folder.
Result<void> check_launcher(int ranks);

// Removes the environment of the MPI job that has only this process, so that this process can start
// jobs itself: Open MPI refuses a job inside a job. REQUIRES: the process has one thread.
void forget_own_mpi_job();

}  // namespace detol::inline scheduler

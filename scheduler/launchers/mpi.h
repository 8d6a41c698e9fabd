#pragma once

// `mpirun -n N detol search ...`: the processes of one MPI job are the workers of one search, maybe
// on many machines. Rank 0 supervises and runs the master. The others form groups of g in the order
// of their ranks; ranks left over that fill no group end at once. With g = 1 no process initialises
// MPI. The leaders join the master (rendezvous.h). MPI may end the whole job when one process dies;
// `detol resume` resumes the study.

#include <functional>
#include <optional>

#include "core/result.h"
#include "scheduler/processes/run_options.h"
#include "trainer/collectives/mpi_group.h"

namespace detol::inline scheduler {

// Returns this process's place in its job, if the search is to run in it: a job of several
// processes started by mpirun or mpiexec, or, with --launcher mpi, any with MPI's environment.
// Errors (kUsage): --launcher mpi outside of a job, or a job without room for one group.
Result<std::optional<MpiPlace>> mpi_job(const RunOptions& options);

// Returns true if the launcher says that all processes of its job are on this machine.
bool is_whole_job_here();

// Runs this rank's part of the search. `supervise` runs the search itself, with options that let
// workers join. Errors: what keeps this rank from its part.
Result<int> search_in_mpi_job(RunOptions options, const MpiPlace& place, const TestHooks& hooks,
                              const std::function<Result<int>(const RunOptions&)>& supervise);

}  // namespace detol::inline scheduler

#pragma once

// Child processes: what they must not inherit, and how they are waited for.

#include <sys/types.h>

#include <string_view>

namespace detol::inline core {

// Returns whether a setting of the environment, NAME=VALUE, is one by which an MPI program takes
// itself for a rank of the job that this process is in: of Open MPI, of MPICH and its like, of
// PMIx.
bool is_of_mpi_job(std::string_view setting);

// Waits until the child has ended, whatever signals come, and returns its status (of waitpid); 0 if
// there is no such child.
int wait_for_end(pid_t child);

}  // namespace detol::inline core

#pragma once

// MPI groups: a Group whose ranks are the processes of one MPI job, and how to start such a job.
// mpi_group.cpp and mpi_sum are the only files that include <mpi.h>; they work with Open MPI and
// MPICH.
//
// A process may call join_mpi_group or split_mpi_group once, early: before it starts threads
// and before it installs its signal handlers, because MPI installs some of its own. Afterwards only
// that thread may use MPI and the group. A process without a group calls neither: starting MPI
// takes 0.3 s and more.
//
// If a process ends without leave_mpi, MPI kills its whole job, as is right after an error.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "trainer/collectives/group.h"

namespace detol::inline trainer {

// Returns a group whose ranks are all processes of the MPI job. Waits for all of them. Errors:
// kInternal if MPI does not start.
Result<std::unique_ptr<Group>> join_mpi_group();

// Returns the group of the processes that pass the same colour (>= 0), ranked as in the job. Waits
// for all processes of the job. Errors: as above.
Result<std::unique_ptr<Group>> split_mpi_group(int colour);

// Ends MPI when every process of the job has called it; sleeps while it waits. Groups must not be
// used afterwards. Does nothing if MPI was never started.
void leave_mpi();

// Returns this process's rank and size in the MPI job that a launcher started, from the
// environment, without calling MPI. Empty outside of a job.
struct MpiPlace {
  int rank = 0;
  int size = 1;
};
std::optional<MpiPlace> mpi_place();

// Returns the command line that starts a program as a job of `ranks` processes on this machine:
//   environment... mpiexec words... program arguments...
struct MpiLaunch {
  std::string mpiexec;                   // absolute path
  std::vector<std::string> words;        // "-n", "2", ...
  std::vector<std::string> environment;  // NAME=value, in addition to this process's
};
MpiLaunch mpi_launch(int ranks);

// Returns "Open MPI v4.1.4" or "MPICH Version: 4.0.2", for example.
std::string mpi_name();

}  // namespace detol::inline trainer

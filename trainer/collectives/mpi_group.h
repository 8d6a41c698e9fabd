#pragma once

// MPI groups: a Group whose ranks are the processes of one MPI job, and how to start such a job.
// mpi_group.cpp and mpi_sum are the only files that include <mpi.h>; they work with Open MPI and
// MPICH.
//
// A process may call join_mpi_group or split_mpi_group once, early: before it starts threads
// and before it installs its signal handlers, because MPI installs some of its own. Afterwards
// MPI is used from that thread alone; other threads must not touch the group. A process that
// works by itself calls neither: starting MPI takes 0.3 s and more.
//
// A process that ends without leave_mpi takes its whole job along: so it shall be after an error.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "trainer/collectives/group.h"

namespace detol::inline trainer {

// Every process of the MPI job is a rank of one group. Waits for all of them.
// Errors: kInternal if MPI does not start.
Result<std::unique_ptr<Group>> join_mpi_group();

// Processes that name the same colour (>= 0) are one group, ranked as in the job. Waits for all
// processes of the job. Errors: as above.
Result<std::unique_ptr<Group>> split_mpi_group(int colour);

// The agreed end: returns when every process of the job called it, however long that takes,
// without burning a core. Groups are of no use afterwards. Does nothing where MPI never started.
void leave_mpi();

// This process's place in the MPI job that a launcher started it in, from the environment:
// nothing of MPI is called. Empty outside of a job.
struct MpiPlace {
  int rank = 0;
  int size = 1;
};
std::optional<MpiPlace> mpi_place();

// The command line that starts one program as a job of `ranks` processes on this machine:
//   environment... mpiexec words... program arguments...
struct MpiLaunch {
  std::string mpiexec;                   // absolute path
  std::vector<std::string> words;        // "-n", "2", ...
  std::vector<std::string> environment;  // NAME=value, to be added to the own
};
MpiLaunch mpi_launch(int ranks);

// "Open MPI v4.1.4", "MPICH Version: 4.0.2".
std::string mpi_name();

}  // namespace detol::inline trainer

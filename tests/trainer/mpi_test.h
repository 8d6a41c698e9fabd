#pragma once

// Tests whose ranks are processes of an MPI job; mpi_main.cpp starts them.

#include "trainer/collectives/group.h"

namespace detol {

// Returns all ranks of the job. Every rank runs every test, in the same order.
Group& ranks();

}  // namespace detol

#pragma once

// What libdetol_mpi.so gives to a program that loads MPI when a group needs it (CMake option
// DETOL_MPI_AT_RUN_TIME): the functions of mpi_group.h that call MPI. Both are built together, by
// one compiler. Private to this room.

#include "trainer/collectives/mpi_group.h"

namespace detol::inline trainer {

struct MpiPlugin {
  Result<std::unique_ptr<Group>> (*join)();
  Result<std::unique_ptr<Group>> (*split)(int colour);
  void (*leave)();
  std::string (*name)();
};

}  // namespace detol::inline trainer

// Returns the functions.
extern "C" const detol::MpiPlugin* detol_mpi_plugin();

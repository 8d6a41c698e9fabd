#include "trainer/collectives/mpi_plugin.h"

extern "C" __attribute__((visibility("default"))) const detol::MpiPlugin* detol_mpi_plugin() {
  static constexpr detol::MpiPlugin kPlugin = {detol::join_mpi_group, detol::split_mpi_group,
                                               detol::leave_mpi, detol::mpi_name};
  return &kPlugin;
}

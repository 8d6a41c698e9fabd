#include "core/child_process.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

namespace detol::inline core {

bool is_of_mpi_job(std::string_view setting) {
  constexpr std::string_view kPrefixes[] = {"OMPI_", "PMIX_",  "PMI_", "MPI_LOCAL",
                                            "HYDI_", "HYDRA_", "MPIR_"};
  return std::ranges::any_of(kPrefixes,
                             [&](std::string_view prefix) { return setting.starts_with(prefix); });
}

int wait_for_end(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace detol::inline core

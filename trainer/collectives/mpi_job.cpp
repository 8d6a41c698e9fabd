// What is known of an MPI job without MPI: this process's place in it, and how to start one.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/program.h"
#include "trainer/collectives/mpi_group.h"

namespace detol::inline trainer {
namespace {

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): never set here
  if (text == nullptr) return std::nullopt;
  const std::string_view view(text);
  int number = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), number);
  if (error != std::errc() || end != view.data() + view.size()) return std::nullopt;
  return number;
}

// Flavour holds the options that the launchers of a family of MPIs need on a single machine.
struct Flavour {
  std::string_view name;  // how mpi_name() begins
  std::vector<std::string_view> words;
  std::vector<std::string_view> environment;
};

// Returns the row of this MPI. More processes than cores are allowed and none is bound to a core,
// as candidates are trained side by side. One machine needs only the shared-memory transport, and
// no search for another. When a rank dies the others are killed at once: Open MPI would wait twice
// for a second.
const Flavour& flavour() {
  static const std::array<Flavour, 4> kFlavours = {{
      {"Open MPI v4",
       {"--bind-to", "none"},
       {"OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self,vader",
        "OMPI_MCA_odls_base_sigkill_timeout=0"}},
      {"Open MPI",
       {"--bind-to", "none"},
       {"PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe", "OMPI_MCA_pml=ob1",
        "OMPI_MCA_btl=self,sm", "PRTE_MCA_odls_base_sigkill_timeout=0"}},
      {"MPICH", {"-bind-to", "none"}, {}},
      {"", {}, {}},
  }};
  const std::string name = mpi_name();
  return *std::ranges::find_if(kFlavours,
                               [&](const Flavour& row) { return name.starts_with(row.name); });
}

// Returns the mpiexec of the build or, where that is not there, the one on the PATH.
std::string mpiexec_here() {
  if (::access(DETOL_MPIEXEC, X_OK) == 0) return DETOL_MPIEXEC;
  const std::string found = find_program("mpiexec");
  return found.empty() ? DETOL_MPIEXEC : found;
}

}  // namespace

std::optional<MpiPlace> mpi_place() {
  constexpr const char* kNames[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                       {"PMI_RANK", "PMI_SIZE"},
                                       {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};  // srun --mpi=pmix
  for (const auto& [rank_name, size_name] : kNames) {
    const auto rank = number_in(rank_name), size = number_in(size_name);
    if (rank && size) return MpiPlace{*rank, *size};
  }
  return std::nullopt;
}

MpiLaunch mpi_launch(int ranks) {
  const Flavour& here = flavour();
  MpiLaunch launch{mpiexec_here(), {"-n", fmt::format("{}", ranks)}, {}};
  launch.words.insert(launch.words.end(), here.words.begin(), here.words.end());
  launch.environment.assign(here.environment.begin(), here.environment.end());
  if (geteuid() == 0 && here.name.starts_with("Open MPI")) {
    launch.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT=1");
    launch.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  }
  return launch;
}

}  // namespace detol::inline trainer

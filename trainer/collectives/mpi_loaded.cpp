// The functions of mpi_group.h for a program that is not linked to MPI: libdetol_mpi.so, which lies
// beside it and is, is loaded when one of them is called.

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/program.h"
#include "trainer/collectives/mpi_plugin.h"

namespace detol::inline trainer {
namespace {

struct Loaded {
  const MpiPlugin* plugin = nullptr;
  std::string why_not;
};

// RTLD_GLOBAL: MPI loads parts of its own, which look for its symbols.
Loaded load_plugin() {
  const std::string path = program_path().parent_path() / "libdetol_mpi.so";
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  using Get = const MpiPlugin* (*)();
  const auto get =
      library == nullptr ? nullptr : reinterpret_cast<Get>(::dlsym(library, "detol_mpi_plugin"));
  if (get != nullptr) return {get(), {}};
  const char* const reason = ::dlerror();
  return {nullptr, reason != nullptr ? reason : path + " is not part of detol"};
}

const Loaded& loaded() {
  static const Loaded kLoaded = load_plugin();
  return kLoaded;
}

tl::unexpected<Error> no_mpi() {
  return fail(ErrorCode::kUsage,
              fmt::format("there is no MPI for groups of processes: {}; install Open MPI 4 "
                          "(Debian: openmpi-bin), or use --group-size 1",
                          loaded().why_not));
}

}  // namespace

Result<std::unique_ptr<Group>> join_mpi_group() {
  return loaded().plugin != nullptr ? loaded().plugin->join() : no_mpi();
}

Result<std::unique_ptr<Group>> split_mpi_group(int colour) {
  return loaded().plugin != nullptr ? loaded().plugin->split(colour) : no_mpi();
}

// Without a place in a job nothing has started MPI.
void leave_mpi() {
  if (mpi_place() && loaded().plugin != nullptr) loaded().plugin->leave();
}

std::string mpi_name() {
  return loaded().plugin != nullptr ? loaded().plugin->name() : std::string();
}

}  // namespace detol::inline trainer

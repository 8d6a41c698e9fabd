#include "scheduler/processes/oom.h"

#include "core/cgroup.h"

namespace detol::inline scheduler {

std::int64_t oom_kills(const std::filesystem::path& root) {
  double sum = 0;
  for (const auto& folders : cgroup_folders("memory", root)) {
    for (const char* name : {"memory.events", "memory.oom_control"})
      sum += cgroup_entry(folders.front() / name, "oom_kill").value_or(0);
  }
  return static_cast<std::int64_t>(sum);
}

}  // namespace detol::inline scheduler

#include "core/usable.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/cgroup.h"

namespace detol::inline core {
namespace {

namespace fs = std::filesystem;

// Returns the cores in the affinity mask; 0 if it cannot be read. A machine may have more cores
// than a cpu_set_t has bits.
int cores_in_the_mask() {
  for (int cores = CPU_SETSIZE; cores <= 64 * CPU_SETSIZE; cores *= 2) {
    cpu_set_t* mask = CPU_ALLOC(static_cast<std::size_t>(cores));
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cores));
    const bool is_read = mask != nullptr && ::sched_getaffinity(0, size, mask) == 0;
    const int count = is_read ? CPU_COUNT_S(size, mask) : 0;
    CPU_FREE(mask);
    if (is_read) return count;
  }
  return 0;
}

// Returns the cores that a group's quota pays for; nullopt: it has none.
std::optional<double> quota_in(const fs::path& folder) {
  std::vector<double> numbers = cgroup_numbers(folder / "cpu.max");
  if (numbers.empty()) {
    for (const char* name : {"cpu.cfs_quota_us", "cpu.cfs_period_us"}) {
      const std::vector<double> one = cgroup_numbers(folder / name);
      if (!one.empty()) numbers.push_back(one.front());
    }
  }
  if (numbers.size() < 2 || !(numbers[0] > 0 && numbers[1] > 0)) return std::nullopt;
  return numbers[0] / numbers[1];
}

// The files of a group that limit its memory.
constexpr const char* kMemoryLimits[] = {"memory.max", "memory.high", "memory.limit_in_bytes"};

// Returns what a group uses, without files that the kernel drops when memory is needed.
double used_in(const fs::path& folder) {
  for (const auto& [usage, cache] : {std::pair{"memory.current", "inactive_file"},
                                     std::pair{"memory.usage_in_bytes", "total_inactive_file"}}) {
    const std::vector<double> used = cgroup_numbers(folder / usage);
    if (used.empty()) continue;
    return std::max(0.0, used.front() - cgroup_entry(folder / "memory.stat", cache).value_or(0));
  }
  return 0;
}

void limit_by(const fs::path& folder, UsableMemory& memory) {
  for (const char* name : kMemoryLimits) {
    const std::vector<double> limit = cgroup_numbers(folder / name);
    // Version 1 writes a number beyond all memory where there is no limit.
    const auto most = static_cast<double>(memory.of_machine);
    if (limit.empty() || !(limit.front() >= 0 && limit.front() < most)) continue;
    const auto bytes = static_cast<std::int64_t>(limit.front());
    const auto free = static_cast<std::int64_t>(std::max(0.0, limit.front() - used_in(folder)));
    memory.free = std::min(memory.free, free);
    if (bytes >= memory.bytes) continue;
    memory.bytes = bytes;
    memory.limit = (folder / name).string();
  }
}

}  // namespace

UsableCores usable_cores(UsableCores allowed, const fs::path& root) {
  for (const auto& folders : cgroup_folders("cpu", root)) {
    for (const fs::path& folder : folders) {
      const std::optional<double> quota = quota_in(folder);
      if (!quota || !(*quota < allowed.count)) continue;
      allowed.count = std::max(1, static_cast<int>(std::floor(*quota)));
      allowed.limit = "CPU quota in " + folder.string();
    }
  }
  return allowed;
}

UsableCores usable_cores() {
  UsableCores allowed;
  allowed.of_machine = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  const int masked = cores_in_the_mask();
  allowed.count = masked > 0 ? std::min(masked, allowed.of_machine) : allowed.of_machine;
  if (allowed.count < allowed.of_machine) allowed.limit = "affinity mask";
  return usable_cores(std::move(allowed), "/");
}

UsableMemory usable_memory(UsableMemory machine, const fs::path& root) {
  const std::optional<double> available_kb = cgroup_entry(root / "proc/meminfo", "MemAvailable:");
  if (available_kb)
    machine.free = std::min(machine.bytes, static_cast<std::int64_t>(*available_kb * 1024));
  for (const auto& folders : cgroup_folders("memory", root)) {
    for (const fs::path& folder : folders) limit_by(folder, machine);
  }
  return machine;
}

UsableMemory usable_memory() {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  UsableMemory machine;
  machine.bytes = machine.of_machine = page * ::sysconf(_SC_PHYS_PAGES);
  machine.free = page * ::sysconf(_SC_AVPHYS_PAGES);
  return usable_memory(std::move(machine), "/");
}

}  // namespace detol::inline core

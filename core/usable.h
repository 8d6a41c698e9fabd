#pragma once

// What this process may use of the machine: an administrator, a batch system or a container gives
// it some of the cores and of the memory. Thread-safe.

#include <cstdint>
#include <filesystem>
#include <string>

namespace detol::inline core {

struct UsableCores {
  int count = 1;       // at least 1
  int of_machine = 1;  // what is online
  std::string limit;   // why they are fewer: "affinity mask", "CPU quota in <folder>"; else empty
};

// Returns how many cores the calling thread may keep busy: those of its affinity mask, and no more
// than the CPU quotas of its control groups (cpu.max, cpu.cfs_quota_us) pay for, rounded down. A
// process that binds itself to fewer cores has fewer from then on.
UsableCores usable_cores();

// A variable of workers, whose own OMP_NUM_THREADS is 1: what the user had set that one to, for
// programs of the user; empty: nothing.
inline constexpr const char* kProgramThreadsVariable = "DETOL_PROGRAM_THREADS";

struct UsableMemory {
  std::int64_t bytes = 0;
  std::int64_t free = 0;  // of them, what can be had: neither used nor only a cache of files
  std::int64_t of_machine = 0;
  std::string limit;  // why they are fewer: the file with the limit; else empty
};

// Returns the memory that this process may use: the machine's, and no more than its control groups
// allow (memory.max, memory.high, memory.limit_in_bytes).
UsableMemory usable_memory();

// The same, of a machine of so many cores or bytes, whose proc/ and sys/ are in `root`.
UsableCores usable_cores(UsableCores allowed, const std::filesystem::path& root);
UsableMemory usable_memory(UsableMemory machine, const std::filesystem::path& root);

}  // namespace detol::inline core

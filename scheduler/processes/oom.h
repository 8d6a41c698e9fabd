#pragma once

// oom_kills() counts the processes of this process's control groups (memory.events, or under
// version 1 memory.oom_control) that the kernel has killed for lack of memory; 0 where that cannot
// be read. `root` is the folder that has proc/ and sys/, for tests.

#include <cstdint>
#include <filesystem>

namespace detol::inline scheduler {

std::int64_t oom_kills(const std::filesystem::path& root = "/");

}  // namespace detol::inline scheduler

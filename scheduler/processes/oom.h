#pragma once

// oom_kills() counts the processes of this process's control group (cgroup v2) that the kernel has
// killed for lack of memory; 0 where that cannot be read.

#include <cstdint>

namespace detol::inline scheduler {

std::int64_t oom_kills();

}  // namespace detol::inline scheduler

#pragma once

// How many processes of this process's control group (cgroup v2) the kernel has killed for
// lack of memory; 0 where that cannot be read.

#include <cstdint>

namespace detol {

std::int64_t oom_kills();

}  // namespace detol

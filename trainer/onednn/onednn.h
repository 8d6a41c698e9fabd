#pragma once

// The onednn backend: CPU, one thread, blocked layouts from end to end.

#include <memory>

#include "trainer/backend.h"

namespace detol {

// The backend's row.
Result<std::unique_ptr<Executable>> compile_onednn(const Network& network, const Recipe& recipe,
                                                   const Placement& placement);

// Empties the cache of compiled primitives, as in a fresh process. For measuring.
void forget_compiled();

}  // namespace detol

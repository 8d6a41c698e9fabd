#pragma once

// The onednn backend: CPU, one thread, blocked layouts from end to end.

#include <memory>

#include "trainer/backend.h"

namespace detol {

// The backend's row.
Result<std::unique_ptr<Executable>> compile_onednn(const Network& network, const Recipe& recipe);

}  // namespace detol

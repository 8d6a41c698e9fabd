#pragma once

// The table of backends, apart from their interface, so that no backend depends on another.

#include <span>

#include "trainer/backends/backend.h"

namespace detol::inline trainer {

// Returns every backend, fastest first, the reference last. The GPU's is listed in every build, and
// usable if its library and a device are present.
std::span<const BackendRow> backends();

}  // namespace detol::inline trainer

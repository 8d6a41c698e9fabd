#pragma once

// The table of backends, apart from their interface, so that none of them sees the others.

#include <span>

#include "trainer/backends/backend.h"

namespace detol::inline trainer {

// Every backend, fastest first, the reference last. The GPU's is there in every build, and usable
// where its library and a device are.
std::span<const BackendRow> backends();

}  // namespace detol::inline trainer

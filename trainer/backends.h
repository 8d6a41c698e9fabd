#pragma once

// The table of backends, apart from their interface, so that no backend depends on another.

#include <span>

#include "trainer/backends/backend.h"

namespace detol::inline trainer {

// Returns every backend, fastest first, the reference last. The GPU's is listed in every build, and
// usable if its library and a device are present.
std::span<const BackendRow> backends();

// The CPU's backend was called onednn until November 2026: records of studies have that name, and
// hashes, which outlive names, are of it. These return what is called `name` in the table, and in
// hashes.
std::string_view present_name(std::string_view name);
std::string_view name_in_hashes(std::string_view name);

}  // namespace detol::inline trainer

#pragma once

// Patient write: a full disk is nobody's fault, so a checkpoint waits until there is space. Private
// to this folder.

#include <filesystem>
#include <functional>

#include "core/result.h"
#include "trainer/checkpoint.h"

namespace detol {

// As write_checkpoint, again and again, ever more seldom, while a later try may succeed;
// `goes_on` is asked before each wait, and the last error returned once it says no.
Result<void> write_patiently(const std::filesystem::path& folder, const Checkpoint& checkpoint,
                             const std::function<bool()>& goes_on);

}  // namespace detol

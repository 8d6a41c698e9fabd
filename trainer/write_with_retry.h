#pragma once

// write_with_retry: a full disk does not fail a trial; its training waits until there is space.
// Private to this folder.

#include <filesystem>
#include <functional>

#include "core/result.h"
#include "trainer/checkpoint.h"

namespace detol::inline trainer {

// Calls write_checkpoint, with growing pauses, while a later try may succeed. Calls `may_continue`
// before each pause, and returns the last error once that returns false.
Result<void> write_with_retry(const std::filesystem::path& folder, const Checkpoint& checkpoint,
                              const std::function<bool()>& may_continue);

}  // namespace detol::inline trainer

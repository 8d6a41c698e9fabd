#pragma once

// The bytes of a checkpoint file (docs/checkpoint.md). Private to this folder.

#include <string>
#include <string_view>

#include "core/result.h"
#include "trainer/checkpoint_contents.h"

namespace detol::inline trainer {

// CheckpointFlaw is the reason why a file cannot be used as a checkpoint.
struct CheckpointFlaw {
  bool newer = false;  // whole, but of a later version
  std::string reason;
};

std::string to_bytes(const Checkpoint& checkpoint);

// Parses a file; checks every length and shape against the number of bytes before using it.
tl::expected<Checkpoint, CheckpointFlaw> from_bytes(std::string_view bytes);

}  // namespace detol::inline trainer

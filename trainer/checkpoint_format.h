#pragma once

// The bytes of a checkpoint file (docs/checkpoint.md). Private to this folder.

#include <string>
#include <string_view>

#include "trainer/checkpoint.h"

namespace detol::inline trainer {

// Why a file is no checkpoint of ours.
struct CheckpointFlaw {
  bool newer = false;  // whole, but of a later version
  std::string reason;
};

std::string to_bytes(const Checkpoint& checkpoint);

// Believes no length or shape before it is held against the number of bytes.
tl::expected<Checkpoint, CheckpointFlaw> from_bytes(std::string_view bytes);

}  // namespace detol::inline trainer

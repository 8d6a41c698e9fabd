#pragma once

// Joining: tensors of different shapes become one, as encodings with free wiring need it. Images
// are pooled down to the smallest height and the smallest width among them; for an addition,
// channels are projected up to the widest. Succeeds for any shapes. Private to encodings/.

#include <string>
#include <vector>

#include "encodings/network/network.h"

namespace detol::inline encoding {

enum class JoinKind { kAdd, kConcat };

// Returns the node that joins `inputs`, in their order; a single input is returned itself. New
// layers are called "<scope>.add" or "<scope>.concat", "<scope>.in<i>.pool<j>",
// "<scope>.in<i>.shortcut.conv".
// REQUIRES: inputs is not empty.
NodeId join(NetworkBuilder& builder, JoinKind kind, std::vector<NodeId> inputs, std::string scope);

// Pools `node` down to this height and width; returns `node` itself if it has them.
// REQUIRES: its image is at least that high and that wide.
NodeId downsample(NetworkBuilder& builder, NodeId node, std::int64_t height, std::int64_t width,
                  const std::string& scope);

}  // namespace detol::inline encoding

#pragma once

// PyTorch's modules for a network's layers. Private to this folder.

#include <string>

#include "encodings/network/network.h"

namespace detol::inline exporting {

// Returns the call that makes the layer's module: "nn.Conv2d(3, 16, 3, padding=1, bias=False)".
// `reads_matrix`: it is given N x C, not N x C x H x W. Empty for a layer that needs no module:
// input, flatten, add, scale, concat.
std::string module_of(const Network& network, NodeId id, bool reads_matrix);

}  // namespace detol::inline exporting

#pragma once

// The lines of a PyTorch class that make and call a network's layers. Private to this folder.

#include <string>

#include "encodings/network/network.h"

namespace detol::inline exporting {

struct TorchCode {
  std::string init;     // of __init__(): one line for each layer that is a module
  std::string forward;  // of forward(), from the normalised inputs to `return`
};

// Returns the lines, indented for the methods of a class. Layers have their attribute_names(); a
// tensor that the next layer alone reads is called `x`, another has the name of its layer.
TorchCode torch_code(const Network& network);

}  // namespace detol::inline exporting

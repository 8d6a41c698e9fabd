#pragma once

// The names under which PyTorch knows a network's layers and tensors. Private to this folder.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "export/export.h"

namespace detol::inline exporting {

// Returns the name of each node, by NodeId, as an attribute of a Python class: `stages.0.1.conv1`
// becomes `stages_0_1_conv1`. They are unique.
std::vector<std::string> attribute_names(const Network& network);

// TorchTensor: an entry of a state_dict. It views the model.
struct TorchTensor {
  std::string name;  // "stem_conv.weight"; a norm's gamma is its weight, beta its bias
  std::vector<std::int64_t> shape;
  std::span<const float> data;
};

// Returns the state_dict of the class that pytorch_source() writes: mean and deviation of the
// inputs, then the weights in the order of network.parameters(). REQUIRES: a checked model.
std::vector<TorchTensor> state_dict_of(const Model& model);

// Returns whether the network's inputs are vectors, which PyTorch's Linear reads as N x C.
bool reads_vectors(const Network& network);

}  // namespace detol::inline exporting

#pragma once

// The engines of the emulated cuDNN: one for each property that a caller has to check.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <cudnn.h>

#include "tests/support/cuda/convolution.h"
#include "tests/support/cuda/cudnn_descriptor.h"

namespace detol::emulated {

struct EngineRow {
  std::int64_t index = 0;
  std::string_view summary;
  std::vector<cudnnBackendNumericalNote_t> numbers = {};
  std::vector<cudnnBackendBehaviorNote_t> behaviour = {};
  std::int64_t workspace = 0;            // bytes
  std::vector<std::int64_t> tiles = {};  // values of its one knob, or none
  bool takes_bfloat16 = true;
  bool sums_in_single = false;  // with its last tile it always does
  bool refuses = false;         // though the heuristics name it
};

const std::vector<EngineRow>& engines();
const EngineRow* find_engine(std::int64_t index);

// Operation: what a graph of one operation computes. operation_of() returns null and sets `status`
// if the operation is not emulated, or refers to a destroyed descriptor.
struct Operation {
  Convolution convolution;
  std::int64_t x = 0, w = 0, y = 0;                                // unique names
  std::int64_t x_alignment = 1, w_alignment = 1, y_alignment = 1;  // bytes
};
std::unique_ptr<Operation> operation_of(const Descriptor& graph, cudnnStatus_t& status);

}  // namespace detol::emulated

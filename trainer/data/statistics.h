#pragma once

// Mean and standard deviation of every channel over the training part: what a Normaliser uses.

#include <string>

#include "core/result.h"
#include "trainer/dataset.h"

namespace detol {

// Fills data.mean and data.deviation. Bytes are summed up exactly, as integers; floats in double,
// in their order. A constant channel of floats keeps its scale. Errors (kInput): all bytes of a
// channel are equal.
Result<void> fill_statistics(Dataset& data, const std::string& path);

// Every label of a multi_label task is there for some images to train on, and missing for some.
// Errors (kInput): which is not.
Result<void> check_switches(const Dataset& data, const std::string& path);

}  // namespace detol

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

// Fills data.target_mean and data.target_deviation, of each number to foretell. Errors (kInput):
// one is the same in every record to train on.
Result<void> fill_target_statistics(Dataset& data, const std::string& path);

// Every label of a multi_label task is there for some images to train on, and missing for some.
// Errors (kInput): which is not.
Result<void> check_switches(const Dataset& data, const std::string& path);

// The task's own of these checks, for data of which the answers alone are at hand.
Result<void> check_answers(Dataset& data, const DataConfig& config);

}  // namespace detol

#pragma once

// Options by which commands choose a network, and what they do with its probabilities.

#include <optional>

#include "command_line/command.h"
#include "models/thresholds.h"

namespace detol::inline cli {

// Errors (kUsage): both --trial and --model were given.
Result<void> check_one_is_chosen(const Arguments& arguments);

Option threshold_option();

// Returns nullopt if none is given. Errors (kUsage): as threshold_from(text).
Result<std::optional<ThresholdRequest>> threshold_from(const Arguments& arguments);

}  // namespace detol::inline cli

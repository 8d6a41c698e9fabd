#pragma once

// Reads the data section of a space file.

#include <nlohmann/json_fwd.hpp>

#include "encodings/study/data_config.h"

namespace detol::inline encoding {

// Returns the section as a value, with defaults for absent keys. REQUIRES: every key has its form.
DataConfig data_config_from(const nlohmann::json& data);

}  // namespace detol::inline encoding

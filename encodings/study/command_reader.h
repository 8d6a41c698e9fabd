#pragma once

// The `command` of a space file. Private to this folder.

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "encodings/schema/yaml_tree.h"
#include "encodings/study/command.h"

namespace detol::inline encoding {

// Reads the section. `file` is the checked file of `tree`.
Result<CommandConfig> read_command_config(const YamlNode& tree, const nlohmann::json& file,
                                          const YamlSource& source);

}  // namespace detol::inline encoding

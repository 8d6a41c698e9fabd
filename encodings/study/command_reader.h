#pragma once

// The `command` of a space file, and what it or `external` says of its networks. Private to this
// folder.

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "core/result.h"
#include "encodings/network/task.h"
#include "encodings/schema/yaml_tree.h"
#include "encodings/study/command.h"

namespace detol::inline encoding {

// Reads the section. `file` is the checked file of `tree`.
Result<CommandConfig> read_command_config(const YamlNode& tree, const nlohmann::json& file,
                                          const YamlSource& source);

// Returns what the networks of the study read and give, which the section `name` says where the
// file has an architecture; nullopt where it has none.
Result<std::optional<Task>> read_network_task(const YamlNode& tree, const nlohmann::json& file,
                                              std::string_view name, const YamlSource& source);

}  // namespace detol::inline encoding

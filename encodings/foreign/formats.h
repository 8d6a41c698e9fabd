#pragma once

// The readers of the formats. Private to this folder.

#include "core/result.h"
#include "encodings/foreign/foreign_space.h"
#include "encodings/schema/yaml_tree.h"

namespace detol::inline encoding {

// These say whether a map looks like a file of the format.
bool is_nni_space(const YamlNode& tree);
bool is_wandb_sweep(const YamlNode& tree);
bool is_optuna_space(const YamlNode& tree);
bool is_ray_space(const YamlNode& tree);

// These read it. Errors (kInput) have their place.
Result<ForeignSpace> read_nni_space(const YamlNode& tree, const YamlSource& source);
Result<ForeignSpace> read_wandb_sweep(const YamlNode& tree, const YamlSource& source);
Result<ForeignSpace> read_optuna_space(const YamlNode& tree, const YamlSource& source);
Result<ForeignSpace> read_ray_space(const YamlNode& tree, const YamlSource& source);

}  // namespace detol::inline encoding

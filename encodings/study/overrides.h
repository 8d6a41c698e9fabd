#pragma once

// `--set path=value`: changes to a space file's tree before it is checked. Private to this
// folder.

#include <vector>

#include "core/result.h"
#include "encodings/schema/yaml_tree.h"
#include "encodings/study/study_config.h"

namespace detol::inline encoding {

// Sets every override's value in the tree, in their order; missing maps of the path are made,
// and a word within the path becomes {name: word}. Unknown keys are found later, when the tree is
// checked. `source.override_paths` are those of `overrides`.
Result<void> apply_overrides(YamlNode& tree, const std::vector<Override>& overrides,
                             const YamlSource& source);

}  // namespace detol::inline encoding

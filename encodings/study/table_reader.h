#pragma once

// The `table` of a space file. Private to this folder.

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "encodings/common/encoding.h"
#include "encodings/schema/yaml_tree.h"
#include "encodings/study/table.h"

namespace detol::inline encoding {

// Reads the section. `file` is the checked file of `tree`; `encoding` its architecture's, null if
// it has none.
//
// The key is one word, a list of words or a map {parameter: column}. A word that is a parameter's
// name is the column of that parameter, any other word the column of the architecture's text, which
// a map calls `architecture`. Every parameter must have a column, and the architecture too.
Result<TableConfig> read_table_config(const YamlNode& tree, const nlohmann::json& file,
                                      const EncodingRow* encoding, const YamlSource& source);

}  // namespace detol::inline encoding

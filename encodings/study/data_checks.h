#pragma once

// The checks of the data section of a space file, and of the sections that depend on it, beyond the
// form of each key. Errors (kInput, kUsage for an override) name the place and what is
// accepted.

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/schema/yaml_tree.h"
#include "encodings/study/data_config.h"

namespace detol::inline encoding {

// Checks that no key of `data` belongs to another format, or does nothing without another key.
Result<void> has_keys_of_its_format(const YamlNode& tree, const YamlSource& source,
                                    std::string_view format);

// Checks the split and the columns of a table. REQUIRES: every key has its form.
Result<void> check_data(const YamlNode& tree, const YamlSource& source, const DataConfig& data);

// Returns all values that a word of the training section can have; none if its key is absent.
// REQUIRES: every key has its form.
std::vector<std::string> words_of_training(const YamlNode& tree, std::string_view key);

// Checks that labels, loss and smoothing suit the task. REQUIRES: every key has its form.
Result<void> suits_task(const YamlNode& tree, const YamlSource& source, const DataConfig& data);

}  // namespace detol::inline encoding

#pragma once

// What the data section of a space file and the sections that follow from it must keep to, beyond
// the form of each key. Errors (kInput, kUsage for an override) name the place and what is
// accepted.

#include <string>
#include <string_view>
#include <vector>

#include "encodings/schema/yaml_tree.h"
#include "encodings/study/study_config.h"

namespace detol {

// No key of data is another format's.
Result<void> has_keys_of_its_format(const YamlNode& tree, const YamlSource& source,
                                    std::string_view format);

// All that a word of the training section can be; none: it is not there. REQUIRES: as below.
std::vector<std::string> words_of_training(const YamlNode& tree, std::string_view key);

// Labels, loss and smoothing are such as the task has. REQUIRES: every key has its form.
Result<void> suits_task(const YamlNode& tree, const YamlSource& source, const DataConfig& data);

}  // namespace detol

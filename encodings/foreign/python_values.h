#pragma once

// Values as the program reads them whose file it is: all of them are written in Python. Private to
// this folder.

#include <string>
#include <vector>

#include "encodings/schema/yaml_tree.h"

namespace detol::inline encoding {

// Rewrites the plain scalars of a tree as YAML 1.2 writes what PyYAML reads in them: `no` becomes
// false, 010 becomes 8, 1:30 becomes 90, and 1e5, which lacks its point and its sign, the text 1e5.
// Returns a remark for each value that reads otherwise than it looks, without repeats.
std::vector<std::string> read_as_pyyaml(YamlNode& tree);

// Rewrites the plain scalars of a list as YAML 1.2 writes what Python reads in them: True, 1_000,
// 0x10.
void read_as_python(YamlNode& tree);

}  // namespace detol::inline encoding

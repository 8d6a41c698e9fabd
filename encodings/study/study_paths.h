#pragma once

// Paths in a space file. Private to this folder.

#include <filesystem>

#include "encodings/schema/yaml_tree.h"

namespace detol::inline encoding {

// Makes the paths of data or of a table absolute, against the current folder if they are there,
// else against `folder` (of what the command line says only if they are there), ~/ being the user's
// folder, and the folder of a command against the
// current one, which it is if the file does not say, so that a resume from elsewhere finds them.
// Errors (kInput): such a path is not UTF-8, and a study's text is.
Result<void> make_paths_absolute(YamlNode& tree, const std::filesystem::path& folder);

}  // namespace detol::inline encoding

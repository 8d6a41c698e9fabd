#pragma once

// Where the space of a study comes from that a program or a caller evaluates: a space file, or
// flags.

#include <vector>

#include "command_line/command.h"
#include "encodings/study/study_config.h"

namespace detol::inline cli {

// Returns `own` followed by the options that config_from_flags() reads, but for the command.
std::vector<Option> with_space_options(std::vector<Option> own);

// Returns whether the arguments describe a space.
bool has_space(const Arguments& arguments);

// Reads --space, or makes a space of --param, --metric and --steps for this command; an empty one:
// callers evaluate the candidates. The study is called --study, or `name`. Errors: kUsage, kInput.
Result<StudyConfig> config_from_flags(const Arguments& arguments,
                                      const std::vector<std::string>& command,
                                      const std::string& name);

}  // namespace detol::inline cli

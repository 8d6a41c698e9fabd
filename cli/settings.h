#pragma once

// Settings: the flags and DETOL_* variables that set a key of the space file. The first that is
// given of flag, --set, variable and file applies. `tune` and `ask` take a space of flags, too.

#include <string>
#include <string_view>
#include <vector>

#include "command_line/command.h"
#include "encodings/study/study_config.h"

namespace detol::inline cli {

// Returns the words of --set. Errors (kUsage): one without '='.
Result<std::vector<Override>> set_overrides(const Arguments& arguments);

// Returns what the command line and the environment change in a space file; the last one wins.
// Errors (kUsage): a --set without '='.
Result<std::vector<Override>> overrides_from(const Arguments& arguments);

// Reads the space file of --space with all of these overrides applied. Errors: kUsage for a wrong
// flag or variable, kInput for a wrong file.
Result<StudyConfig> read_space(const Arguments& arguments);

// Replaces `--set <path>` in an error about an override by the flag or variable that the user
// wrote. Returns other errors as they are.
Error as_written(Error error, const Arguments& arguments);

// Checks a path that goes into a file of JSON or YAML, of which it is a text. Errors (kUsage): it
// is not UTF-8.
Result<void> check_path(std::string_view option, const std::string& path);

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

#pragma once

// Settings: the flags and DETOL_* variables that stand for a key of the space file, and the
// order in which they win: flag, --set, variable, file.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "encodings/study/study_config.h"

namespace detol::inline cli {

struct Setting {
  std::string_view flag;      // key of the command's option: "algorithm"
  std::string_view variable;  // DETOL_ALGORITHM
  std::string_view path;      // search.algorithm
  bool is_text = false;       // whatever it looks like: a folder called `a: b`, a study called 7
};

std::span<const Setting> settings();

// Returns what the command line and the environment change in a space file; the last one wins.
// Errors (kUsage): a --set without '='.
Result<std::vector<Override>> overrides_from(const Arguments& arguments);

// The space file of --space with all of that applied. Errors: kUsage where a flag or a
// variable is to blame, kInput where the file is.
Result<StudyConfig> read_space(const Arguments& arguments);

// An error about an override names `--set <path>`; this names the flag or variable that the
// user really wrote. Other errors stay as they are.
Error as_written(Error error, const Arguments& arguments);

// The space file of that name: here, or among the installed ready-to-run ones ("cnn",
// "cnn.yaml", "configs/cnn.yaml"); the name itself if there is none.
std::string find_space(const std::string& name);

}  // namespace detol::inline cli

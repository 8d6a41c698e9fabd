#pragma once

// DataFiles: a small valid data set whose files a fuzz target replaces, one at a time. The first
// byte of an input says which file and how the data are read, the others are that file's.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "encodings/study/study_config.h"
#include "tests/support/temp_folder.h"

namespace detol::fuzz {

struct GoodData {
  std::map<std::string, std::string> files;  // by name
  std::vector<DataConfig> configs;           // how they are read; the path is set later
  bool is_folder = true;                     // else data.path is the only file
};

// Inputs that read a file unchanged, for every file and config.
std::vector<std::string> inputs_of(const GoodData& good);

class DataFiles {
 public:
  explicit DataFiles(GoodData good);

  // Inspects and loads the data. Throws BrokenPromise unless both refuse it in one line that names
  // the path, or both accept it and agree.
  void read(std::string_view input);

 private:
  GoodData good_;
  testing_support::TempFolder folder_;
};

}  // namespace detol::fuzz

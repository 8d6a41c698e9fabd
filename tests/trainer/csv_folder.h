#pragma once

// CsvFolder: a test's folder of CSV files, and the data section that reads one.

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "encodings/study/study_config.h"
#include "tests/support/temp_folder.h"

namespace detol {

class CsvFolder : public testing::Test {
 protected:
  // Writes the text to t.csv.
  DataConfig config(const std::string& text) const {
    std::ofstream(path()) << text;
    return {.format = "csv", .path = path()};
  }
  std::string path(const std::string& name = "t.csv") const {
    return (folder_.path() / name).string();
  }

 private:
  testing_support::TempFolder folder_;
};

}  // namespace detol

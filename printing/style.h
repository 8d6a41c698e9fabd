#pragma once

#include <string>
#include <vector>

namespace detol::inline printing {

enum class Format { kTable, kJson, kJsonl, kCsv };

struct PrintStyle {
  Format format = Format::kTable;
  bool color = false;
  std::vector<std::string> columns = {};  // those to print; empty: all that fit
  int width = 0;                          // of the terminal on stdout; 0: it is none
};

}  // namespace detol::inline printing

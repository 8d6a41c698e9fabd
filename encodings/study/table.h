#pragma once

// Table: candidates that are looked up in a file of measurements instead of being trained. Here
// is what a space file says of it (`table: {path: nb201.csv, key: arch, ...}`); the file itself is
// read by trainer/table.h, never when a space file is loaded.

#include <string>
#include <vector>

namespace detol::inline encoding {

// A column that tells the rows apart.
struct KeyColumn {
  std::string column;
  std::string parameter;  // that it holds the value of; empty: the architecture's text
};

struct MetricColumn {
  std::string metric;
  std::string column;
};

struct TableConfig {
  std::string path;    // empty: only --data says it
  std::string source;  // where the file is had, for messages; may be empty
  std::vector<KeyColumn> key;
  std::vector<MetricColumn> metrics;
  std::string cost;  // the column of a candidate's work; empty: none
};

}  // namespace detol::inline encoding

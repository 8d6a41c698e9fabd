#pragma once

// Table: candidates that are looked up in a file of measurements instead of being trained. This
// header has its settings in a space file (`table: {path: nb201.csv, key: arch, ...}`); the table
// itself is read by trainer/table.h, never when a space file is loaded.

#include <string>
#include <vector>

namespace detol::inline encoding {

// KeyColumn: a column of the key, by which a candidate's row is found.
struct KeyColumn {
  std::string column;
  std::string parameter;  // the column has its values; empty: it has the architecture's text
};

struct MetricColumn {
  std::string metric;
  std::string column;
};

struct TableConfig {
  std::string path;    // empty: --data gives it
  std::string source;  // where to get the file, for messages; may be empty
  std::vector<KeyColumn> key;
  std::vector<MetricColumn> metrics;
  std::string cost;  // the column of a candidate's work; empty: none
};

}  // namespace detol::inline encoding

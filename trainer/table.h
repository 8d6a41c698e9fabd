#pragma once

// Table: scores candidates by looking them up in a CSV file of measurements, as tabular benchmarks
// are published. One epoch per trial, which reports the metrics of its row; no network, no
// checkpoint. A candidate without a row is refused before a worker gets it.

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// Table: the columns of a file that a study uses. Immutable; safe to share between threads.
class Table {
 public:
  struct Row {
    std::vector<double> metrics;  // in the order of TableConfig::metrics; maybe nan
    double work = 0;
  };

  // Loads a file. Errors (kInput): no file, a column that is missing or duplicate, a cell that is
  // not a number, two rows with one key; with file, line and column if they apply.
  static Result<Table> load(const TableConfig& config);

  // Returns the row of StudyConfig::table_key, or nullptr. Numbers are compared to twelve digits,
  // whole ones to all of theirs, everything else as text; TRUE equals true.
  const Row* find(const std::vector<std::string>& key) const;

  std::size_t rows() const { return rows_.size(); }
  std::uint64_t fingerprint() const { return fingerprint_; }  // of the file

 private:
  std::unordered_map<std::string, Row> rows_;
  std::uint64_t fingerprint_ = 0;
};

Result<DatasetInfo> inspect_table(const StudyConfig& config);

// Returns the check that refuses a candidate without a row.
Result<Admission> table_admission(const StudyConfig& config);

Result<std::unique_ptr<Evaluator>> make_table(const StudyConfig& config,
                                              const TrainerOptions& options);

}  // namespace detol::inline trainer

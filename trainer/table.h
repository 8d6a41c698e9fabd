#pragma once

// Table: scores candidates by looking them up in a CSV file of measurements, as tabular benchmarks
// are published. One epoch per trial, that reports the metrics of its row; no network, no
// checkpoint. A candidate that has no row is refused before it becomes anybody's work.

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// The columns of a file that a study asks for. Immutable; safe to share between threads.
class Table {
 public:
  struct Row {
    std::vector<double> metrics;  // in the order of TableConfig::metrics; maybe nan
    double work = 0;
  };

  // Errors (kInput): no file, a column that is not there or there twice, a cell that is no number,
  // two rows of one key; with file, line and column where there are any.
  static Result<Table> load(const TableConfig& config);

  // The row of StudyConfig::table_key, or nullptr. Numbers are compared as numbers of twelve
  // digits, everything else as text; TRUE is true.
  const Row* find(const std::vector<std::string>& key) const;

  std::size_t rows() const { return rows_.size(); }
  std::uint64_t fingerprint() const { return fingerprint_; }  // of the file

 private:
  std::unordered_map<std::string, Row> rows_;
  std::uint64_t fingerprint_ = 0;
};

Result<DatasetInfo> inspect_table(const StudyConfig& config);

// Refuses what has no row.
Result<Admission> table_admission(const StudyConfig& config);

Result<std::unique_ptr<Evaluator>> make_table(const StudyConfig& config,
                                              const TrainerOptions& options);

}  // namespace detol::inline trainer

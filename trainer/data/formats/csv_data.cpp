#include "trainer/data/formats/csv_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/hash.h"
#include "core/table.h"
#include "core/utf8.h"
#include "trainer/data/data_sample.h"
#include "trainer/data/formats/csv.h"
#include "trainer/data/formats/files.h"
#include "trainer/data/split.h"
#include "trainer/data/statistics.h"

namespace detol::inline trainer {
namespace {

// CsvRecords: the records of one file, in its order.
struct CsvRecords {
  std::vector<float> values;         // record after record
  std::vector<std::string> labels;   // as written; only of tasks with labels
  std::vector<float> targets;        // of other tasks, record after record
  std::vector<CsvCell> label_cells;  // positions of the labels, without text
  std::vector<std::string> names;    // of the label columns, if the file has names
  std::size_t width = 0;             // values per record
  std::size_t size = 0;              // records
  std::uint64_t fingerprint = 0;

  std::int64_t count() const { return static_cast<std::int64_t>(size); }
};

bool is_place(std::string_view label) {
  return label == "first" || label == "last";
}

std::vector<std::string> label_columns(const DataConfig& config) {
  return config.labels.empty() ? std::vector<std::string>{"last"} : config.labels;
}

class RecordReader {
 public:
  RecordReader(const DataConfig& config, const std::string& path, CsvReader file)
      : task_(config.task),
        label_names_(label_columns(config)),
        is_default_(config.labels.empty()),
        path_(path),
        file_(std::move(file)) {}

  Result<CsvRecords> read() {
    records_.fingerprint = file_.fingerprint();
    DETOL_ASSIGN(const bool any, file_.next());
    if (!any) return fail(ErrorCode::kInput, path_ + ": the file is empty");
    DETOL_TRY(find_labels());
    if (is_header()) {
      DETOL_TRY(take_names());
    } else {
      DETOL_TRY(take());
    }
    for (;;) {
      DETOL_ASSIGN(const bool more, file_.next());
      if (!more) return std::move(records_);
      DETOL_TRY(take());
    }
  }

 private:
  // Finds the label columns. REQUIRES: the first record was read.
  Result<void> find_labels() {
    const auto cells = file_.cells();
    if (cells.size() < label_names_.size() + 1) {
      if (cells.size() == 1)
        return file_.error_at(cells[0], "one column; there must be a label and at least one more");
      return file_.error_at(cells[0],
                            fmt::format("{} columns; there must be {} labels and at least "
                                        "one more",
                                        cells.size(), label_names_.size()));
    }
    records_.width = cells.size() - label_names_.size();
    is_label_.assign(cells.size(), false);
    for (const std::string& label : label_names_) {
      DETOL_ASSIGN(const std::size_t column, column_of(label));
      if (is_label_[column])
        return file_.error_at(cells[column], fmt::format("data.label: the column {} is there twice",
                                                         in_quotes(label)));
      is_label_[column] = true;
      labels_.push_back(column);
    }
    return {};
  }

  // Returns the column of a label; a header's column of that name takes precedence, even if the
  // name is `first` or `last`.
  Result<std::size_t> column_of(const std::string& label) const {
    const auto cells = file_.cells();
    std::vector<std::string_view> names;
    for (const CsvCell& cell : cells) names.push_back(cell.text);
    const auto found = static_cast<std::size_t>(std::ranges::find(names, label) - names.begin());
    const bool is_named = found < names.size() && !is_default_;
    if (is_named && (!is_place(label) || names_others_than(found))) return found;
    if (label == "first") return 0;
    if (label == "last") return cells.size() - 1;
    return file_.error_at(cells[0], "data.label: " + unknown_name("column", label, names));
  }

  // Returns whether the first line has text in another column, too, and so is a header, not a
  // record whose label happens to be that word.
  bool names_others_than(std::size_t column) const {
    const auto cells = file_.cells();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i != column && !number_in(cells[i].text)) return true;
    }
    return false;
  }

  // Returns whether the first line names the columns: if its values are not all numbers.
  bool is_header() const {
    for (std::size_t i = 0; i < file_.cells().size(); ++i) {
      const bool may_be_text = is_label_[i] && has_labels(task_);
      if (!may_be_text && !number_in(file_.cells()[i].text)) return true;
    }
    return !std::ranges::all_of(label_names_, is_place);
  }

  Result<void> take_names() {
    for (const std::size_t column : labels_) {
      const CsvCell& cell = file_.cells()[column];
      DETOL_TRY(check_text(cell));
      records_.names.emplace_back(cell.text);
    }
    return {};
  }

  // Checks a text that names a class, as it is written to JSON and exports.
  Result<void> check_text(const CsvCell& cell) const {
    if (is_utf8(cell.text)) return {};
    return file_.error_at(cell, fmt::format("the label {} is not UTF-8; save the file as UTF-8",
                                            in_quotes(cell.text)));
  }

  Result<void> take() {
    for (std::size_t i = 0; i < file_.cells().size(); ++i) {
      if (is_label_[i]) continue;
      const CsvCell& cell = file_.cells()[i];
      DETOL_ASSIGN(const float number, finite(cell, "only the label may be text"));
      records_.values.push_back(number);
    }
    for (const std::size_t column : labels_) DETOL_TRY(take_label(file_.cells()[column]));
    ++records_.size;
    return {};
  }

  Result<float> finite(const CsvCell& cell, std::string_view rule) const {
    const auto number = number_in(cell.text);
    if (number && std::isfinite(static_cast<float>(*number))) return static_cast<float>(*number);
    return file_.error_at(cell,
                          fmt::format("{} is no finite number; {}", in_quotes(cell.text), rule));
  }

  Result<void> take_label(const CsvCell& cell) {
    if (cell.text.empty()) return file_.error_at(cell, "the label is missing");
    if (has_labels(task_)) {
      DETOL_TRY(check_text(cell));
      records_.labels.emplace_back(cell.text);
      records_.label_cells.push_back({{}, cell.line, cell.column});
      return {};
    }
    const bool is_switch = task_ == TaskKind::kMultiLabel;
    DETOL_ASSIGN(const float number, finite(cell, is_switch ? "a label of data.task multi_label is "
                                                              "0 or 1"
                                                            : "data.task regression needs one"));
    if (is_switch && number != 0 && number != 1) {
      return file_.error_at(cell, fmt::format("{} is neither 0 nor 1, as the labels of data.task "
                                              "multi_label are",
                                              in_quotes(cell.text)));
    }
    records_.targets.push_back(number);
    return {};
  }

  TaskKind task_;
  std::vector<std::string> label_names_;
  bool is_default_;  // data.label is not set: the last column
  const std::string& path_;
  CsvReader file_;
  std::vector<std::size_t> labels_;  // columns, in the order of data.label
  std::vector<bool> is_label_;       // of each column
  CsvRecords records_;
};

Result<CsvRecords> read_records(const DataConfig& config, const std::string& path) {
  DETOL_ASSIGN(CsvReader file, CsvReader::open(path));
  return RecordReader(config, path, std::move(file)).read();
}

// Returns the distinct labels, sorted as numbers if all are numbers, else as text.
std::vector<std::string> classes_of(const CsvRecords& records) {
  std::vector<std::string> names = records.labels;
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto number = [](const std::string& name) { return number_in(name); };
  if (std::ranges::all_of(names, [&](const auto& name) { return number(name).has_value(); }))
    std::ranges::stable_sort(names, {}, number);
  return names;
}

std::int32_t class_of(const std::vector<std::string>& classes, const std::string& label) {
  return static_cast<std::int32_t>(std::ranges::find(classes, label) - classes.begin());
}

// Checks that there are two classes and that each has a training record.
Result<void> check_classes(const DataConfig& config, const Dataset& dataset) {
  const std::vector<std::string>& names = dataset.class_names;
  if (names.size() < 2)
    return fail(ErrorCode::kInput, fmt::format("{}: all labels are {}: there is nothing to tell "
                                               "apart",
                                               config.path, in_quotes(names.front())));
  std::vector<bool> seen(names.size(), false);
  for (std::size_t i = 0; i < static_cast<std::size_t>(dataset.info.training); ++i)
    seen[static_cast<std::size_t>(dataset.labels[i])] = true;
  const auto missing = std::ranges::find(seen, false);
  if (missing == seen.end()) return {};
  return fail(ErrorCode::kInput,
              fmt::format("{}: of {} labels, {} has no record to train on; is data.label ({}) the "
                          "right column?",
                          config.path, names.size(),
                          in_quotes(names[static_cast<std::size_t>(missing - seen.begin())]),
                          label_columns(config).front()));
}

// Appends the separate test file as the test split.
Result<void> add_test_file(const DataConfig& config, Dataset& dataset) {
  DETOL_TRY(find_data(config.test_path, config.source));
  DETOL_ASSIGN(const CsvRecords test, read_records(config, config.test_path));
  const auto width = static_cast<std::size_t>(dataset.info.task.input.elements());
  if (test.width != width)
    return fail(ErrorCode::kInput, fmt::format("{}: {} values in a record, but {} has {}",
                                               config.test_path, test.width, config.path, width));
  dataset.values.insert(dataset.values.end(), test.values.begin(), test.values.end());
  dataset.targets.insert(dataset.targets.end(), test.targets.begin(), test.targets.end());
  for (std::size_t i = 0; i < test.labels.size(); ++i) {
    const std::int32_t label = class_of(dataset.class_names, test.labels[i]);
    if (label == dataset.info.task.classes) {
      const CsvCell& cell = test.label_cells[i];
      return fail(ErrorCode::kInput,
                  fmt::format("{}:{}:{}: the label {} is not among those to train on",
                              config.test_path, cell.line, cell.column, in_quotes(test.labels[i])));
    }
    dataset.labels.push_back(label);
  }
  dataset.info.test = test.count();
  dataset.info.fingerprint = hash_combine(dataset.info.fingerprint, test.fingerprint);
  return {};
}

// Hashes what was read and the settings by which it was interpreted.
std::uint64_t fingerprint_of(const DataConfig& config, const CsvRecords& records,
                             const SplitAssignment& assignment) {
  std::uint64_t fingerprint = records.fingerprint;
  for (const std::string& label : label_columns(config))
    fingerprint = hash_combine(fingerprint, hash64(label));
  fingerprint = hash_combine(fingerprint, config.sequence ? 1 : 0);
  fingerprint = hash_combine(fingerprint, static_cast<std::uint64_t>(assignment.validation));
  return hash_combine(fingerprint, static_cast<std::uint64_t>(assignment.test));
}

}  // namespace

Result<Dataset> load_csv(const DataConfig& config) {
  DETOL_ASSIGN(const CsvRecords records, read_records(config, config.path));
  if (records.size == 0)
    return fail(ErrorCode::kInput, config.path + ": there is no record below the header");
  SeparateSplitSizes separate;
  if (!config.test_path.empty()) separate.test = 0;  // the file is read later
  DETOL_ASSIGN(const SplitAssignment assignment, split_samples(config, records.count(), separate));
  const auto width = static_cast<std::int64_t>(records.width);
  Dataset dataset;
  const bool labelled = has_labels(config.task);
  const std::size_t outputs = label_columns(config).size();
  dataset.class_names = labelled ? classes_of(records) : records.names;
  const std::size_t classes = labelled ? dataset.class_names.size() : outputs;
  dataset.info = {.task = {.input = config.sequence ? Shape{1, 1, width} : Shape{width, 1, 1},
                           .classes = static_cast<int>(classes)},
                  .training = assignment.training,
                  .validation = assignment.validation,
                  .test = assignment.test,
                  .fingerprint = fingerprint_of(config, records, assignment)};
  dataset.values.resize(records.values.size());
  dataset.labels.resize(records.labels.size());
  dataset.targets.resize(records.targets.size());
  std::map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; labelled && i < classes; ++i)
    numbers.emplace(dataset.class_names[i], static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < records.size; ++i) {
    const auto at = static_cast<std::size_t>(assignment.position[i]);
    if (labelled)
      dataset.labels[at] = numbers[records.labels[i]];
    else
      std::copy_n(&records.targets[i * outputs], outputs, &dataset.targets[at * outputs]);
    std::copy_n(&records.values[i * records.width], records.width,
                &dataset.values[at * records.width]);
  }
  if (labelled)
    DETOL_TRY(check_classes(config, dataset));
  else if (config.task == TaskKind::kMultiLabel)
    DETOL_TRY(check_multi_labels(dataset, config.path));
  DETOL_TRY(fill_statistics(dataset, config.path));
  if (!config.test_path.empty()) {
    DETOL_TRY(add_test_file(config, dataset));
  }
  return dataset;
}

Result<DatasetInfo> inspect_csv(const DataConfig& config) {
  DETOL_ASSIGN(Dataset dataset, load_csv(config));
  DETOL_TRY(check_task_targets(dataset, config));
  dataset.info.sample = sample_of(dataset);
  return dataset.info;
}

}  // namespace detol::inline trainer

#include "trainer/data/csv_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/hash.h"
#include "core/table.h"
#include "trainer/data/csv.h"
#include "trainer/data/split.h"
#include "trainer/data/statistics.h"

namespace detol {
namespace {

// The records of one file, in its order.
struct Records {
  std::vector<float> values;         // one after the other
  std::vector<std::string> labels;   // as they are written
  std::vector<CsvCell> label_cells;  // for their places; the text is gone
  std::size_t width = 0;             // values per record
  std::uint64_t fingerprint = 0;

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
};

std::string label_column(const DataConfig& config) {
  return config.label.empty() ? "last" : config.label;
}

class RecordReader {
 public:
  RecordReader(const DataConfig& config, const std::string& path, CsvReader file)
      : label_name_(label_column(config)), path_(path), file_(std::move(file)) {}

  Result<Records> read() {
    records_.fingerprint = file_.fingerprint();
    DETOL_ASSIGN(const bool any, file_.next());
    if (!any) return fail(ErrorCode::kInput, path_ + ": the file is empty");
    DETOL_TRY(find_label());
    if (!is_header()) {
      DETOL_TRY(take());
    }
    for (;;) {
      DETOL_ASSIGN(const bool more, file_.next());
      if (!more) return std::move(records_);
      DETOL_TRY(take());
    }
  }

 private:
  // REQUIRES: the first record was read.
  Result<void> find_label() {
    const auto cells = file_.cells();
    if (cells.size() < 2)
      return file_.error_at(cells[0], "one column; there must be a label and at least one more");
    records_.width = cells.size() - 1;
    if (label_name_ == "first") return {};
    label_ = cells.size() - 1;
    if (label_name_ == "last") return {};
    std::vector<std::string_view> names;
    for (const CsvCell& cell : cells) names.push_back(cell.text);
    label_ = static_cast<std::size_t>(std::ranges::find(names, label_name_) - names.begin());
    if (label_ < names.size()) return {};
    return file_.error_at(cells[0], "data.label: " + unknown_name("column", label_name_, names));
  }

  // A first line whose values are not all numbers names the columns.
  bool is_header() const {
    for (std::size_t i = 0; i < file_.cells().size(); ++i) {
      if (i != label_ && !number_in(file_.cells()[i].text)) return true;
    }
    return label_name_ != "first" && label_name_ != "last";
  }

  Result<void> take() {
    for (std::size_t i = 0; i < file_.cells().size(); ++i) {
      const CsvCell& cell = file_.cells()[i];
      if (i == label_) {
        if (cell.text.empty()) return file_.error_at(cell, "the label is missing");
        records_.labels.emplace_back(cell.text);
        records_.label_cells.push_back({{}, cell.line, cell.column});
        continue;
      }
      const auto number = number_in(cell.text);
      if (!number || !std::isfinite(static_cast<float>(*number))) {
        return file_.error_at(cell, fmt::format("{} is no finite number; only the label may be "
                                                "text",
                                                in_quotes(cell.text)));
      }
      records_.values.push_back(static_cast<float>(*number));
    }
    return {};
  }

  std::string label_name_;
  const std::string& path_;
  CsvReader file_;
  std::size_t label_ = 0;
  Records records_;
};

Result<Records> read_records(const DataConfig& config, const std::string& path) {
  DETOL_ASSIGN(CsvReader file, CsvReader::open(path));
  return RecordReader(config, path, std::move(file)).read();
}

// The different labels in their order: of numbers if all are numbers, else of texts.
std::vector<std::string> classes_of(const Records& records) {
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

// Every class is trained on.
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
                          label_column(config)));
}

// Appends a file of its own as the test part.
Result<void> add_test_file(const DataConfig& config, Dataset& dataset) {
  DETOL_TRY(find_data(config.test_path, config.source));
  DETOL_ASSIGN(const Records test, read_records(config, config.test_path));
  const auto width = static_cast<std::size_t>(dataset.info.task.input.elements());
  if (test.width != width)
    return fail(ErrorCode::kInput, fmt::format("{}: {} values in a record, but {} has {}",
                                               config.test_path, test.width, config.path, width));
  dataset.values.insert(dataset.values.end(), test.values.begin(), test.values.end());
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

// Of what was read and of how it was understood.
std::uint64_t fingerprint_of(const DataConfig& config, const Records& records,
                             const Places& places) {
  std::uint64_t fingerprint = hash_combine(records.fingerprint, hash64(label_column(config)));
  fingerprint = hash_combine(fingerprint, config.sequence ? 1 : 0);
  fingerprint = hash_combine(fingerprint, static_cast<std::uint64_t>(places.validation));
  return hash_combine(fingerprint, static_cast<std::uint64_t>(places.test));
}

}  // namespace

Result<Dataset> load_csv(const DataConfig& config) {
  DETOL_ASSIGN(const Records records, read_records(config, config.path));
  if (records.labels.empty())
    return fail(ErrorCode::kInput, config.path + ": there is no record below the header");
  OwnParts own;
  if (!config.test_path.empty()) own.test = 0;  // the file is read later
  DETOL_ASSIGN(const Places places, split_samples(config, records.count(), own));
  const auto width = static_cast<std::int64_t>(records.width);
  Dataset dataset;
  dataset.class_names = classes_of(records);
  dataset.info = {.task = {.input = config.sequence ? Shape{1, 1, width} : Shape{width, 1, 1},
                           .classes = static_cast<int>(dataset.class_names.size())},
                  .training = places.training,
                  .validation = places.validation,
                  .test = places.test,
                  .fingerprint = fingerprint_of(config, records, places)};
  dataset.values.resize(records.values.size());
  dataset.labels.resize(records.labels.size());
  std::map<std::string_view, std::int32_t> classes;
  for (const std::string& name : dataset.class_names)
    classes.emplace(name, static_cast<std::int32_t>(classes.size()));
  for (std::size_t i = 0; i < records.labels.size(); ++i) {
    const auto at = static_cast<std::size_t>(places.position[i]);
    dataset.labels[at] = classes[records.labels[i]];
    std::copy_n(&records.values[i * records.width], records.width,
                &dataset.values[at * records.width]);
  }
  DETOL_TRY(check_classes(config, dataset));
  DETOL_TRY(fill_statistics(dataset, config.path));
  if (!config.test_path.empty()) {
    DETOL_TRY(add_test_file(config, dataset));
  }
  return dataset;
}

Result<DatasetInfo> inspect_csv(const DataConfig& config) {
  DETOL_ASSIGN(const Dataset dataset, load_csv(config));
  return dataset.info;
}

}  // namespace detol

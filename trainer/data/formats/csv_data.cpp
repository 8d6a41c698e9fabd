#include "trainer/data/formats/csv_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>

#include "core/hash.h"
#include "core/table.h"
#include "trainer/data/data_sample.h"
#include "trainer/data/formats/csv_choice.h"
#include "trainer/data/formats/csv_look.h"
#include "trainer/data/formats/csv_records.h"
#include "trainer/data/formats/files.h"
#include "trainer/data/formats/new_categories.h"
#include "trainer/data/split.h"
#include "trainer/data/statistics.h"

namespace detol::inline trainer {
namespace {

// Returns the distinct labels, sorted as numbers if all are finite numbers, else as text.
std::vector<std::string> classes_of(const CsvRecords& records) {
  std::vector<std::string> names = records.labels;
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto number = [](const std::string& name) { return number_in(name); };
  const auto is_finite = [&](const std::string& name) {
    return number(name) && std::isfinite(*number(name));
  };
  if (std::ranges::all_of(names, is_finite)) std::ranges::stable_sort(names, {}, number);
  return names;
}

// Replaces the places in the file's dictionary by the numbers that stand for categories; notes
// those that are none.
void translate(const TableColumn& column, CsvRecords& records, std::size_t input,
               NewCategories& news) {
  if (column.kind != ColumnKind::kCategory) return;
  std::vector<float> codes;
  for (const std::string& category : records.dictionaries[input])
    codes.push_back(column.code_of(category));
  std::vector<std::int64_t> cells(codes.size());
  for (std::size_t at = input; at < records.values.size(); at += records.width) {
    const auto place = static_cast<std::size_t>(records.values[at]);
    records.values[at] = codes[place];
    ++cells[place];
  }
  for (std::size_t place = 0; place < codes.size(); ++place) {
    if (codes[place] >= static_cast<float>(column.categories.size()))
      news.see(column, records.dictionaries[input][place], cells[place]);
  }
}

// Says what was read and guessed of the table and its label.
std::vector<std::string> remarks_of(const DataConfig& config, const TableLook& look) {
  constexpr std::int64_t kFewClasses = 10;  // of numbers
  std::vector<std::string> remarks = remarks_on(look);
  const ColumnLook& label = look.columns[look.labels.front()];
  if (has_labels(config.task) && label.kind == ColumnKind::kNumber && label.distinct > kFewClasses)
    remarks.push_back(
        fmt::format("column {}: its {} different numbers are taken as classes; data.task: "
                    "regression predicts the number",
                    in_quotes(label.name), label.distinct));
  return remarks;
}

// Checks that no label is without a cell, as the column is behind separators that end each line.
Result<void> check_label_cells(const DataConfig& config, const TableLook& look) {
  for (const std::size_t i : look.labels) {
    if (look.columns[i].missing == look.records && config.missing_label != "class")
      return fail(
          ErrorCode::kInput,
          fmt::format("{}: column {}, the label, is empty in every record; data.label names "
                      "another",
                      config.path, in_quotes(look.columns[i].name)));
  }
  return {};
}

// Checks that there are two classes and that each has a training record.
Result<void> check_classes(const DataConfig& config, const SplitAssignment& assignment,
                           std::span<const std::int32_t> labels,
                           const std::vector<std::string>& names) {
  if (names.size() < 2)
    return fail(ErrorCode::kInput, fmt::format("{}: all labels are {}: there is nothing to tell "
                                               "apart",
                                               config.path, in_quotes(names.front())));
  const auto missing = class_without_images(assignment, labels, static_cast<int>(names.size()));
  if (!missing) return {};
  return fail(
      ErrorCode::kInput,
      fmt::format("{}: of {} labels, {} has no record to train on; is data.label ({}) the "
                  "right column?",
                  config.path, names.size(), in_quotes(names[static_cast<std::size_t>(*missing)]),
                  label_columns(config).front()));
}

// Appends the separate test file as the test split.
Result<void> add_test_file(const DataConfig& config, TableLook& look, Dataset& dataset) {
  std::error_code ignored;
  if (!std::filesystem::exists(config.test_path, ignored))
    return fail(ErrorCode::kInput,
                config.test_path + ": there is nothing; data.test_path names it");
  DETOL_ASSIGN(CsvRecords test, read_records_like(config, config.test_path, look));
  for (const std::string& remark : test.remarks)
    look.remarks.push_back(fmt::format("{}: {}", config.test_path, remark));
  if (test.without_label > 0)
    look.remarks.push_back(fmt::format("{}: {} records without a label, left out", config.test_path,
                                       test.without_label));
  if (dataset.table) {
    NewCategories news;
    for (std::size_t i = 0; i < test.width; ++i)
      translate(dataset.table->columns[i], test, i, news);
    for (const std::string& remark : news.remarks(test.count()))
      look.remarks.push_back(fmt::format("{}: {}", config.test_path, remark));
  }
  dataset.values.insert(dataset.values.end(), test.values.begin(), test.values.end());
  dataset.targets.insert(dataset.targets.end(), test.targets.begin(), test.targets.end());
  for (std::size_t i = 0; i < test.labels.size(); ++i) {
    const auto label = std::ranges::find(dataset.class_names, test.labels[i]);
    if (label == dataset.class_names.end()) {
      const CsvCell& cell = test.label_cells[i];
      return fail(ErrorCode::kInput,
                  fmt::format("{}:{}:{}: the label {} is not among those to train on",
                              config.test_path, cell.line, cell.column, in_quotes(test.labels[i])));
    }
    dataset.labels.push_back(static_cast<std::int32_t>(label - dataset.class_names.begin()));
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

// Adds the settings of columns and split. What has its default leaves no trace: a table of numbers
// alone, of a study that began before there were such settings, has the same fingerprint.
std::uint64_t with_settings(std::uint64_t fingerprint, const DataConfig& config,
                            const TableLook& look, const Dataset& dataset) {
  const ColumnsConfig& columns = config.columns;
  fingerprint = with_split(fingerprint, config.split);
  if (columns.header || !columns.separator.empty() || !columns.decimal.empty()) {
    const int header = columns.header ? 1 + static_cast<int>(*columns.header) : 0;
    const auto form = fmt::format("{} {} {}", header, columns.separator, columns.decimal);
    fingerprint = hash_combine(fingerprint, hash64(form));
  }
  for (const auto* offsets : {&dataset.offsets.inputs, &dataset.offsets.targets}) {
    for (const double offset : *offsets)
      fingerprint = hash_combine(fingerprint, std::bit_cast<std::uint64_t>(offset));
  }
  for (const ColumnLook& column : look.columns) {
    if (column.is_index) fingerprint = hash_combine(fingerprint, hash64(column.name));
  }
  if (config.missing_label != "error")
    fingerprint = hash_combine(fingerprint, hash64(config.missing_label));
  if (!dataset.table || (dataset.table->is_linear() && columns.use.empty() && columns.drop.empty()))
    return fingerprint;
  for (const TableColumn& column : dataset.table->columns) {
    fingerprint = hash_combine(fingerprint, hash64(column.name));
    fingerprint = hash_combine(fingerprint, static_cast<std::uint64_t>(column.kind));
    fingerprint = hash_combine(fingerprint, static_cast<std::uint64_t>(column.encoding));
    fingerprint = hash_combine(fingerprint, column.inputs());
  }
  return fingerprint;
}

SplitKeys split_keys(const DataConfig& config, const CsvRecords& records,
                     std::span<const std::int32_t> labels) {
  SplitKeys keys;
  if (config.split.by == "time") keys.times = records.times;
  if (config.split.by == "stratified" && has_labels(config.task))
    keys.classes.assign(labels.begin(), labels.end());
  else if (config.split.by == "stratified")
    keys.classes = tenths_of(records.targets, label_columns(config).size());
  std::map<std::string_view, std::int32_t> numbers;
  for (const std::string& group : records.groups)
    keys.groups.push_back(
        numbers.try_emplace(group, static_cast<std::int32_t>(numbers.size())).first->second);
  return keys;
}

// Returns the classes of the records; empty for tasks without labels.
std::vector<std::int32_t> classes_in(const CsvRecords& records,
                                     const std::vector<std::string>& names) {
  std::map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; i < names.size(); ++i)
    numbers.emplace(names[i], static_cast<std::int32_t>(i));
  std::vector<std::int32_t> classes;
  for (const std::string& label : records.labels) classes.push_back(numbers[label]);
  return classes;
}

// Copies the records to their positions.
void scatter(const CsvRecords& records, std::span<const std::int32_t> labels,
             const SplitAssignment& assignment, Dataset& dataset) {
  const std::size_t outputs = records.size == 0 ? 0 : records.targets.size() / records.size;
  dataset.values.resize(records.values.size());
  dataset.labels.resize(labels.size());
  dataset.targets.resize(records.targets.size());
  for (std::size_t i = 0; i < records.size; ++i) {
    const auto at = static_cast<std::size_t>(assignment.position[i]);
    if (!labels.empty()) dataset.labels[at] = labels[i];
    std::copy_n(records.targets.data() + i * outputs, outputs,
                dataset.targets.data() + at * outputs);
    std::copy_n(&records.values[i * records.width], records.width,
                &dataset.values[at * records.width]);
  }
}

// Returns the offsets of columns; empty if none has one.
std::vector<double> offsets_in(const TableLook& look, std::span<const std::size_t> columns) {
  std::vector<double> offsets;
  for (const std::size_t i : columns) offsets.push_back(look.columns[i].offset);
  const bool none = std::ranges::all_of(offsets, [](double offset) { return offset == 0; });
  return none ? std::vector<double>() : offsets;
}

NumberEncoding encoding_of(const DataConfig& config) {
  if (config.columns.numbers == "quantile") return NumberEncoding::kQuantile;
  if (config.columns.numbers == "piecewise") return NumberEncoding::kPiecewise;
  return NumberEncoding::kStandard;
}

// Fits an encoding to the training records.
TableEncoder fit_encoder(const DataConfig& config, const TableLook& look, const CsvRecords& records,
                         const SplitAssignment& assignment) {
  TableEncoder encoder;
  encoder.dialect = TableDialect{look.separator, look.decimal, look.has_header};
  const std::vector<std::size_t> inputs = columns_used(look, ColumnUse::kInput);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ColumnLook& found = look.columns[inputs[i]];
    TableColumn column;
    column.name = found.name;
    column.kind = found.kind;
    column.is_day_first = found.is_day_first;
    column.encoding = encoding_of(config);
    ColumnCells training{.numbers = {}, .dictionary = records.dictionaries[i]};
    training.numbers.resize(static_cast<std::size_t>(assignment.training));
    for (std::size_t k = 0; k < records.size; ++k) {
      const std::int64_t at = assignment.position[k];
      if (at < assignment.training)
        training.numbers[static_cast<std::size_t>(at)] = records.values[k * records.width + i];
    }
    fit_column(column, training, config.columns.bins);
    encoder.columns.push_back(std::move(column));
  }
  return encoder;
}

}  // namespace

Result<Dataset> load_csv(const DataConfig& config) {
  DETOL_ASSIGN(TableLook look, look_at_table(config, config.path));
  DETOL_TRY(check_label_cells(config, look));
  DETOL_ASSIGN(CsvRecords records, read_records(config, config.path, look));
  if (records.size == 0) return fail(ErrorCode::kInput, config.path + ": no record has a label");
  const bool labelled = has_labels(config.task);
  Dataset dataset;
  if (labelled) {
    dataset.class_names = classes_of(records);
  } else if (look.has_header) {
    for (const std::size_t i : look.labels) dataset.class_names.push_back(look.columns[i].name);
  }
  const std::vector<std::int32_t> labels = classes_in(records, dataset.class_names);
  dataset.offsets.inputs = offsets_in(look, columns_used(look, ColumnUse::kInput));
  if (config.sequence && !dataset.offsets.inputs.empty())
    dataset.offsets.inputs.erase(dataset.offsets.inputs.begin() + 1, dataset.offsets.inputs.end());
  if (config.task == TaskKind::kRegression) dataset.offsets.targets = offsets_in(look, look.labels);
  SeparateSplitSizes separate;
  if (!config.test_path.empty()) separate.test = 0;  // the file is read later
  DETOL_ASSIGN(
      const SplitAssignment assignment,
      split_samples(config, records.count(), separate, split_keys(config, records, labels)));
  auto width = static_cast<std::int64_t>(records.width);
  if (!config.sequence) {
    auto encoder = std::make_shared<TableEncoder>(fit_encoder(config, look, records, assignment));
    NewCategories of_test_or_validation;  // those of the same file are as rare as its own
    for (std::size_t i = 0; i < records.width; ++i)
      translate(encoder->columns[i], records, i, of_test_or_validation);
    width = static_cast<std::int64_t>(encoder->inputs());
    if (width == 0)
      return fail(ErrorCode::kInput, config.path +
                                         ": every column is constant in the training "
                                         "records: there is nothing to learn from");
    dataset.table = std::move(encoder);
  }
  const std::size_t classes = labelled ? dataset.class_names.size() : look.labels.size();
  dataset.info = {.task = {.input = config.sequence ? Shape{1, 1, width} : Shape{width, 1, 1},
                           .classes = static_cast<int>(classes)},
                  .training = assignment.training,
                  .validation = assignment.validation,
                  .test = assignment.test};
  scatter(records, labels, assignment, dataset);
  dataset.info.fingerprint =
      with_settings(fingerprint_of(config, records, assignment), config, look, dataset);
  if (labelled)
    DETOL_TRY(check_classes(config, assignment, labels, dataset.class_names));
  else if (config.task == TaskKind::kMultiLabel)
    DETOL_TRY(check_multi_labels(dataset, config.path));
  DETOL_TRY(fill_statistics(dataset, config.path));
  if (!config.test_path.empty()) {
    DETOL_TRY(add_test_file(config, look, dataset));
  }
  dataset.info.remarks = remarks_of(config, look);
  dataset.info.look = std::make_shared<TableLook>(std::move(look));
  return dataset;
}

Result<DatasetInfo> inspect_csv(const DataConfig& config) {
  DETOL_ASSIGN(Dataset dataset, load_csv(config));
  DETOL_TRY(check_task_targets(dataset, config));
  dataset.info.sample = sample_of(dataset);
  return dataset.info;
}

}  // namespace detol::inline trainer

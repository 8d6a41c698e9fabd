#include "trainer/data/formats/csv_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/table.h"
#include "core/utf8.h"
#include "trainer/data/formats/csv_open.h"

namespace detol::inline trainer {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

class RecordReader {
 public:
  RecordReader(const DataConfig& config, const TableLook& look, TableLayout layout, OpenCsv file)
      : config_(config),
        layout_(std::move(layout)),
        reader_(std::move(file.reader)),
        decimal_(file.dialect.decimal) {
    for (const std::size_t i : columns_used(look, ColumnUse::kInput))
      inputs_.push_back(&look.columns[i]);
    for (const std::size_t i : columns_used(look, ColumnUse::kSplit))
      is_split_day_first_ = look.columns[i].is_day_first;
    for (const std::size_t i : look.labels) labels_.push_back(&look.columns[i]);
    numbers_.resize(inputs_.size());
  }

  // `fingerprint`: of the file.
  Result<CsvRecords> read(std::uint64_t fingerprint) {
    records_.fingerprint = fingerprint;
    records_.width = inputs_.size();
    records_.dictionaries.resize(inputs_.size());
    for (bool is_first = true;; is_first = false) {
      DETOL_ASSIGN(const bool more, reader_.next());
      if (!more) return std::move(records_);
      if (!(is_first && layout_.has_header)) DETOL_TRY(take());
    }
  }

 private:
  Result<void> take() {
    const auto cells = reader_.cells();
    if (config_.missing_label == "drop" && misses_a_label(cells)) {
      ++records_.without_label;
      return {};
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      DETOL_ASSIGN(const float value, value_of(i, cells[layout_.inputs[i]]));
      records_.values.push_back(value);
    }
    for (std::size_t i = 0; i < labels_.size(); ++i)
      DETOL_TRY(take_label(cells[layout_.labels[i]], labels_[i]->offset));
    for (const std::size_t column : layout_.split) DETOL_TRY(take_key(cells[column]));
    ++records_.size;
    return {};
  }

  bool misses_a_label(std::span<const CsvCell> cells) const {
    return std::ranges::any_of(layout_.labels,
                               [&](std::size_t column) { return is_missing(cells[column].text); });
  }

  tl::unexpected<Error> missing_label(const CsvCell& cell) const {
    const bool has_classes = has_labels(config_.task) && !cell.text.empty();
    return reader_.error_at(
        cell, fmt::format("the label is missing{}; data.missing_label: drop leaves such records "
                          "out{}",
                          cell.text.empty() ? "" : fmt::format(": {}", in_quotes(cell.text)),
                          has_classes ? ", class makes the word a class" : ""));
  }

  Result<float> value_of(std::size_t input, const CsvCell& cell) {
    const ColumnLook& column = *inputs_[input];
    const bool misses = is_missing(cell.text);
    if (column.kind == ColumnKind::kCategory)
      return place_of(input, misses ? std::string_view() : cell.text, cell);
    if (misses && !config_.sequence) return kMissing;
    if (column.kind == ColumnKind::kDate)
      return date_in_cell(reader_, cell, column.is_day_first, column.offset);
    return finite(cell, column.offset, fmt::format("as column {} has", in_quotes(column.name)));
  }

  // Returns the place of a category in its dictionary; a new one is appended.
  Result<float> place_of(std::size_t input, std::string_view text, const CsvCell& cell) {
    auto& dictionary = records_.dictionaries[input];
    const auto [found, is_new] =
        numbers_[input].try_emplace(std::string(text), static_cast<float>(dictionary.size()));
    if (is_new) {
      if (!is_utf8(text))
        return reader_.error_at(
            cell, fmt::format("{} is not UTF-8; save the file as UTF-8", in_quotes(text)));
      dictionary.emplace_back(text);
    }
    return found->second;
  }

  Result<float> finite(const CsvCell& cell, double offset, std::string_view rule) const {
    return number_in_cell(reader_, cell, decimal_, offset, rule);
  }

  Result<void> take_label(const CsvCell& cell, double offset) {
    const bool is_a_class =
        config_.missing_label == "class" && has_labels(config_.task) && !cell.text.empty();
    if (is_missing(cell.text) && !is_a_class) return missing_label(cell);
    if (has_labels(config_.task)) {
      if (!is_utf8(cell.text))
        return reader_.error_at(cell, fmt::format("the label {} is not UTF-8; save the file as "
                                                  "UTF-8",
                                                  in_quotes(cell.text)));
      records_.labels.emplace_back(cell.text);
      records_.label_cells.push_back({{}, cell.line, cell.column});
      return {};
    }
    const bool is_switch = config_.task == TaskKind::kMultiLabel;
    DETOL_ASSIGN(const float number, finite(cell, offset,
                                            is_switch ? "as the labels of data.task multi_label are"
                                                      : "as data.task regression needs one"));
    if (is_switch && number != 0 && number != 1) {
      return reader_.error_at(cell, fmt::format("{} is neither 0 nor 1, as the labels of data.task "
                                                "multi_label are",
                                                in_quotes(cell.text)));
    }
    records_.targets.push_back(number);
    return {};
  }

  // Takes what the split goes by.
  Result<void> take_key(const CsvCell& cell) {
    if (config_.split.by == "group") {
      if (is_missing(cell.text))
        return reader_.error_at(cell,
                                "the group is missing, by which data.split keeps records "
                                "together; fill it in, or remove the record");
      records_.groups.emplace_back(cell.text);
      return {};
    }
    const auto number = number_in(cell.text, decimal_);
    const auto days =
        days_in(cell.text, is_split_day_first_ ? DateOrder::kDayFirst : DateOrder::kMonthFirst);
    if (!days && !(number && std::isfinite(*number)))
      return reader_.error_at(cell, fmt::format("{} is neither a number nor a date, as "
                                                "data.split.by time needs one",
                                                in_quotes(cell.text)));
    records_.times.push_back(days ? *days : *number);
    return {};
  }

  const DataConfig& config_;
  const TableLayout layout_;
  CsvReader reader_;
  const char decimal_;
  std::vector<const ColumnLook*> inputs_, labels_;
  bool is_split_day_first_ = false;
  std::vector<std::unordered_map<std::string, float>> numbers_;  // of the categories of an input
  CsvRecords records_;
};

// Returns where the columns of the look are in a file whose first line names its own; the name of
// the first one that is not there, if any, in `unknown`.
TableLayout layout_by_name(const ColumnNames& names, const TableLook& look, std::string& unknown) {
  TableLayout layout = layout_of(look);
  layout.split.clear();  // the file is not split
  for (auto* columns : {&layout.inputs, &layout.labels}) {
    for (std::size_t& column : *columns) {
      const std::string& name = look.columns[column].name;
      const auto found = names.find(name);
      if (!found && unknown.empty()) unknown = name;
      column = found.value_or(0);
    }
  }
  return layout;
}

}  // namespace

Result<float> number_in_cell(const CsvReader& reader, const CsvCell& cell, char decimal,
                             double offset, std::string_view rule) {
  const auto number = number_in(cell.text, decimal);
  if (number && std::isfinite(static_cast<float>(*number)))
    return static_cast<float>(*number - offset);
  return reader.error_at(cell,
                         fmt::format("{} is not a finite number, {}", in_quotes(cell.text), rule));
}

Result<float> date_in_cell(const CsvReader& reader, const CsvCell& cell, bool is_day_first,
                           double offset) {
  const auto days =
      days_in(cell.text, is_day_first ? DateOrder::kDayFirst : DateOrder::kMonthFirst);
  if (days) return static_cast<float>(*days - offset);
  return reader.error_at(cell, fmt::format("{} is no date", in_quotes(cell.text)));
}

TableLayout layout_of(const TableLook& look) {
  return {look.has_header, columns_used(look, ColumnUse::kInput), look.labels,
          columns_used(look, ColumnUse::kSplit)};
}

Result<CsvRecords> read_records(const DataConfig& config, const std::string& path,
                                const TableLook& look) {
  DETOL_ASSIGN(OpenCsv file, open_csv(config.columns, path));
  const std::uint64_t fingerprint = file.reader.fingerprint();
  return RecordReader(config, look, layout_of(look), std::move(file)).read(fingerprint);
}

Result<CsvRecords> read_records_like(const DataConfig& config, const std::string& path,
                                     const TableLook& look) {
  const auto unknown_in = [&](std::span<const std::string> first) {
    std::string unknown;
    layout_by_name(ColumnNames(first), look, unknown);
    return unknown;
  };
  DETOL_ASSIGN(CsvReader reader, CsvReader::open(path));
  DETOL_ASSIGN(OpenCsv file,
               open_csv_like(config.columns, {look.separator, look.decimal}, std::move(reader),
                             [&](std::span<const std::string> first) {
                               return look.has_header ? unknown_in(first).empty()
                                                      : first.size() == look.columns.size();
                             }));
  const std::vector<std::string> first = first_line_of(file);
  if (first.empty()) {
    DETOL_TRY(file.reader.next());
    return fail(ErrorCode::kInput, path + ": the file is empty");
  }
  TableLayout layout = layout_of(look);
  layout.split.clear();
  if (look.has_header) {
    std::string unknown;
    const ColumnNames names(first);
    layout = layout_by_name(names, look, unknown);
    if (!unknown.empty()) return file.reader.error_at(file.reader.here(), names.unknown(unknown));
  } else if (first.size() != look.columns.size()) {
    return fail(ErrorCode::kInput, fmt::format("{}: {} columns, but {} has {}", path, first.size(),
                                               config.path, look.columns.size()));
  }
  const std::uint64_t fingerprint = file.reader.fingerprint();
  std::vector<std::string> remarks = std::move(file.remarks);
  DETOL_ASSIGN(CsvRecords records,
               RecordReader(config, look, std::move(layout), std::move(file)).read(fingerprint));
  records.remarks = std::move(remarks);
  return records;
}

}  // namespace detol::inline trainer

#include "trainer/data/formats/csv_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/table.h"

namespace detol::inline trainer {
namespace {

class Chooser {
 public:
  Chooser(const DataConfig& config, const CsvReader& reader, std::span<const CsvCell> first,
          TableLook& look)
      : config_(config), reader_(reader), first_(first), look_(look) {}

  Result<void> choose() {
    DETOL_TRY(find_labels());
    return choose_columns();
  }

 private:
  tl::unexpected<Error> error_at(const CsvCell& at, std::string_view what) const {
    return reader_.error_at(at, what);
  }

  // Returns the column of that name. Errors name the key of the space file.
  Result<std::size_t> column_called(std::string_view name, std::string_view key) const {
    std::vector<std::string_view> names;
    for (const ColumnLook& column : look_.columns) names.push_back(column.name);
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    const std::string_view hint =
        look_.has_header ? "" : "; the file has no header, or data.header: true is missing";
    return error_at(first_.front(),
                    fmt::format("{}: {}{}", key, unknown_name("column", name, names), hint));
  }

  Result<void> find_labels() {
    const std::vector<std::string> labels = label_columns(config_);
    if (first_.size() < labels.size() + 1) {
      if (first_.size() > 1)
        return error_at(first_.front(),
                        fmt::format("{} columns; there must be {} labels and at least one more",
                                    first_.size(), labels.size()));
      return error_at(first_.front(),
                      "one column; there must be a label and at least one more; if its cells are "
                      "separated by something else than commas, semicolons, tabs or bars, say "
                      "data.separator");
    }
    for (const std::string& label : labels) {
      DETOL_ASSIGN(const std::size_t column, label_column(label));
      if (look_.columns[column].use == ColumnUse::kLabel)
        return error_at(first_[column],
                        fmt::format("data.label: the column {} is there twice", in_quotes(label)));
      look_.columns[column].use = ColumnUse::kLabel;
      look_.labels.push_back(column);
    }
    return {};
  }

  // A header's column takes precedence over the place that its name says.
  Result<std::size_t> label_column(const std::string& label) const {
    const auto named = std::ranges::find(look_.columns, label, &ColumnLook::name);
    const bool is_named = look_.has_header && !config_.labels.empty();
    if (is_place(label) && !(is_named && named != look_.columns.end()))
      return label == "first" ? 0 : look_.columns.size() - 1;
    return column_called(label, "data.label");
  }

  Result<void> choose_columns() {
    const ColumnsConfig& wanted = config_.columns;
    if (!wanted.use.empty()) {
      for (ColumnLook& column : look_.columns) {
        if (column.use == ColumnUse::kInput) column.use = ColumnUse::kLeftOut;
      }
    }
    if (!config_.split.column.empty()) {
      DETOL_ASSIGN(const auto column, column_called(config_.split.column, "data.split.column"));
      if (look_.columns[column].use != ColumnUse::kLabel)
        look_.columns[column].use = ColumnUse::kSplit;
    }
    for (const std::string& name : wanted.use) {
      DETOL_ASSIGN(const auto column, column_called(name, "data.columns.use"));
      if (look_.columns[column].use == ColumnUse::kLabel)
        return error_at(first_[column],
                        fmt::format("data.columns.use: {} is the label", in_quotes(name)));
      look_.columns[column].use = ColumnUse::kInput;
    }
    for (const std::string& name : wanted.drop) {
      DETOL_ASSIGN(const auto column, column_called(name, "data.columns.drop"));
      if (look_.columns[column].use == ColumnUse::kLabel)
        return error_at(first_[column],
                        fmt::format("data.columns.drop: {} is the label", in_quotes(name)));
      look_.columns[column].use = ColumnUse::kLeftOut;
    }
    for (const auto& [name, type] : wanted.types)
      DETOL_TRY(column_called(name, "data.columns.types"));
    return {};
  }

  const DataConfig& config_;
  const CsvReader& reader_;
  const std::span<const CsvCell> first_;
  TableLook& look_;
};

}  // namespace

bool is_place(std::string_view label) {
  return label == "first" || label == "last";
}

std::vector<std::string> label_columns(const DataConfig& config) {
  return config.labels.empty() ? std::vector<std::string>{"last"} : config.labels;
}

Result<void> choose_columns(const DataConfig& config, const CsvReader& reader,
                            std::span<const CsvCell> first, TableLook& look) {
  return Chooser(config, reader, first, look).choose();
}

}  // namespace detol::inline trainer

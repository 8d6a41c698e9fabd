#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/table.h"
#include "trainer/data/formats/csv_look.h"
#include "trainer/data/formats/csv_records.h"
#include "trainer/data/formats/inputs.h"

namespace detol::inline trainer {
namespace {

constexpr std::string_view kUnnamed = "column_";  // and its place, of a file without a header

// Returns the place that the name of a column says, from 0; nullopt if the file had a header.
std::optional<std::size_t> place_in(std::string_view name) {
  if (!name.starts_with(kUnnamed)) return std::nullopt;
  std::size_t place = 0;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + kUnnamed.size(), end, place);
  if (error != std::errc() || at != end || place == 0) return std::nullopt;
  return place - 1;
}

// Layout: where the network's columns are in a file.
struct Layout {
  bool has_header = false;
  std::vector<std::size_t> places;
};

// REQUIRES: the first line was read.
Result<Layout> layout_of(const CsvReader& reader, const TableEncoder& table) {
  std::vector<std::string_view> cells;
  for (const CsvCell& cell : reader.cells()) cells.push_back(cell.text);
  Layout layout{true, {}};
  std::string_view missing;
  bool is_unnamed = true;
  for (const TableColumn& column : table.columns) {
    const auto found = std::ranges::find(cells, column.name);
    if (found == cells.end() && missing.empty()) missing = column.name;
    layout.places.push_back(static_cast<std::size_t>(found - cells.begin()));
    is_unnamed = is_unnamed && place_in(column.name).has_value();
  }
  if (missing.empty()) return layout;
  if (!is_unnamed)
    return reader.error_at(reader.cells().front(), unknown_name("column", missing, cells));
  layout.has_header = false;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool is_alone = cells.size() == table.columns.size();
    layout.places[i] = is_alone ? i : *place_in(table.columns[i].name);
    if (layout.places[i] >= cells.size())
      return reader.error_at(
          reader.cells().front(),
          fmt::format("{} columns; the network was trained on {} and reads "
                      "{} of them",
                      cells.size(), table.columns.back().name, table.columns.size()));
  }
  return layout;
}

class CsvInputs final : public InputReader {
 public:
  CsvInputs(OpenCsv file, Layout layout, const Preprocessing& data)
      : reader_(std::move(file.reader)),
        decimal_(file.dialect.decimal),
        layout_(std::move(layout)),
        data_(data) {
    for (const TableColumn& column : data_.table->columns) {
      codes_.emplace_back();
      for (const std::string& category : column.categories)
        codes_.back().emplace(category, column.code_of(category));
    }
  }

  Result<Inputs> next(std::int64_t most) override {
    Inputs inputs;
    while (inputs.count() < most) {
      DETOL_ASSIGN(const bool more, reader_.next());
      if (!more) break;
      if (std::exchange(is_first_, false) && layout_.has_header) continue;
      const auto cells = reader_.cells();
      for (std::size_t i = 0; i < layout_.places.size(); ++i) {
        DETOL_ASSIGN(const float value, value_of(i, cells[layout_.places[i]]));
        inputs.data.values.push_back(value);
      }
      inputs.names.push_back(std::to_string(++records_));
    }
    return inputs;
  }

 private:
  Result<float> value_of(std::size_t input, const CsvCell& cell) const {
    const TableColumn& column = data_.table->columns[input];
    const bool misses = is_missing(cell.text);
    if (column.kind == ColumnKind::kCategory) {
      const auto& codes = codes_[input];
      const auto found = codes.find(std::string(misses ? std::string_view() : cell.text));
      return found != codes.end() ? found->second : static_cast<float>(codes.size());
    }
    if (misses) return std::numeric_limits<float>::quiet_NaN();
    const double offset = data_.offsets.of_input(input);
    if (column.kind == ColumnKind::kDate)
      return date_in_cell(reader_, cell, column.is_day_first, offset);
    return number_in_cell(reader_, cell, decimal_, offset,
                          fmt::format("as column {} had to train on", in_quotes(column.name)));
  }

  CsvReader reader_;
  const char decimal_;
  const Layout layout_;
  const Preprocessing data_;
  std::vector<std::unordered_map<std::string, float>> codes_;  // of each column's categories
  bool is_first_ = true;
  std::int64_t records_ = 0;
};

}  // namespace

Result<std::unique_ptr<InputReader>> open_csv_inputs(const std::filesystem::path& path,
                                                     const Preprocessing& data) {
  DETOL_ASSIGN(OpenCsv probe, open_csv({}, path.string()));
  DETOL_ASSIGN(const bool any, probe.reader.next());
  if (!any) return fail(ErrorCode::kInput, path.string() + ": the file is empty");
  DETOL_ASSIGN(Layout layout, layout_of(probe.reader, *data.table));
  DETOL_ASSIGN(OpenCsv file, open_csv({}, path.string()));
  return std::make_unique<CsvInputs>(std::move(file), std::move(layout), data);
}

}  // namespace detol::inline trainer

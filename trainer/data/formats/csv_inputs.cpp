#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "core/log.h"
#include "core/table.h"
#include "trainer/data/formats/csv_open.h"
#include "trainer/data/formats/csv_records.h"
#include "trainer/data/formats/inputs.h"
#include "trainer/data/formats/new_categories.h"

namespace detol::inline trainer {
namespace {

// Layout: where the network's columns are in a file.
struct Layout {
  bool has_header = false;
  std::vector<std::size_t> places;
};

// Returns the columns by name; nullopt, with the name of the first that is not there, if they are
// not. A table that had no header has columns whose names say their place; its names are looked for
// as they are, since an empty cell of a record is no column's name.
std::optional<Layout> layout_by_name(std::span<const std::string> first, const TableEncoder& table,
                                     std::string& missing) {
  const bool has_no_header = table.dialect && !table.dialect->has_header;
  const ColumnNames names(first);
  Layout layout{true, {}};
  for (const TableColumn& column : table.columns) {
    auto place = names.find(column.name);
    if (place && has_no_header && first[*place] != column.name) place.reset();
    if (!place && missing.empty()) missing = column.name;
    layout.places.push_back(place.value_or(0));
  }
  return missing.empty() ? std::optional(std::move(layout)) : std::nullopt;
}

// Returns the columns of a first line that is a record: of the table to train on, or the network's
// alone; nullopt if they are too few.
std::optional<Layout> layout_by_place(std::size_t width, const TableEncoder& table) {
  Layout layout;
  const bool is_alone = width == table.columns.size();
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    layout.places.push_back(is_alone ? i : *place_in(table.columns[i].name));
    if (layout.places.back() >= width) return std::nullopt;
  }
  return layout;
}

// Returns where the columns are; else the reason why they cannot be found.
tl::expected<Layout, std::string> layout_of(std::span<const std::string> first,
                                            const TableEncoder& table) {
  std::string missing;
  if (auto by_name = layout_by_name(first, table, missing)) return *std::move(by_name);
  const bool has_places = !(table.dialect && table.dialect->has_header) &&
                          std::ranges::all_of(table.columns, [](const TableColumn& column) {
                            return place_in(column.name).has_value();
                          });
  if (!has_places) return tl::unexpected(ColumnNames(first).unknown(missing));
  if (auto by_place = layout_by_place(first.size(), table)) return *std::move(by_place);
  return tl::unexpected(
      fmt::format("{} columns; the network was trained on {} and reads {} of them", first.size(),
                  table.columns.back().name, table.columns.size()));
}

class CsvInputs final : public InputReader {
 public:
  CsvInputs(std::string path, OpenCsv file, Layout layout, const Preprocessing& data)
      : path_(std::move(path)),
        reader_(std::move(file.reader)),
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
      if (!more) {
        say_what_is_new();
        break;
      }
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
  void say_what_is_new() {
    for (const std::string& remark : std::exchange(new_categories_, {}).remarks(records_))
      log_warning("{}: {}", path_, remark);
  }

  Result<float> value_of(std::size_t input, const CsvCell& cell) {
    const TableColumn& column = data_.table->columns[input];
    const bool misses = is_missing(cell.text);
    if (column.kind == ColumnKind::kCategory) {
      const auto& codes = codes_[input];
      const std::string text(misses ? std::string_view() : cell.text);
      if (const auto found = codes.find(text); found != codes.end()) return found->second;
      new_categories_.see(column, text);
      return static_cast<float>(codes.size());
    }
    if (misses) return std::numeric_limits<float>::quiet_NaN();
    const double offset = data_.offsets.of_input(input);
    if (column.kind == ColumnKind::kDate)
      return date_in_cell(reader_, cell, column.is_day_first, offset);
    return number_in_cell(reader_, cell, decimal_, offset,
                          fmt::format("as column {} had to train on", in_quotes(column.name)));
  }

  const std::string path_;
  CsvReader reader_;
  const char decimal_;
  const Layout layout_;
  const Preprocessing data_;
  std::vector<std::unordered_map<std::string, float>> codes_;  // of each column's categories
  NewCategories new_categories_;
  bool is_first_ = true;
  std::int64_t records_ = 0;
};

}  // namespace

Result<std::unique_ptr<InputReader>> open_csv_inputs(const std::filesystem::path& path,
                                                     const Preprocessing& data) {
  const TableEncoder& table = *data.table;
  const auto fits = [&](std::span<const std::string> first) {
    return layout_of(first, table).has_value();
  };
  DETOL_ASSIGN(CsvReader reader, CsvReader::open(path));
  const TableDialect model = table.dialect.value_or(TableDialect{});
  DETOL_ASSIGN(OpenCsv file, table.dialect ? open_csv_like({}, {model.separator, model.decimal},
                                                           std::move(reader), fits)
                                           : open_csv({}, std::move(reader)));
  const std::vector<std::string> first = first_line_of(file);
  if (first.empty()) {
    DETOL_TRY(file.reader.next());
    return fail(ErrorCode::kInput, path.string() + ": the file is empty");
  }
  auto layout = layout_of(first, table);
  if (!layout) return file.reader.error_at(file.reader.here(), layout.error());
  for (const std::string& remark : file.remarks) log_info("{}: {}", path.string(), remark);
  return std::make_unique<CsvInputs>(path.string(), std::move(file), *std::move(layout), data);
}

}  // namespace detol::inline trainer

#include "trainer/data/formats/csv_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "core/table.h"
#include "core/utf8.h"
#include "trainer/data/formats/csv_offsets.h"

namespace detol::inline trainer {
namespace {

constexpr std::size_t kMostDistinct = 10'000;
constexpr std::int64_t kFewCategories = 20;  // are categories in a table of any length

bool is_place(std::string_view label) {
  return label == "first" || label == "last";
}

// FirstCell: a copy of a cell of the first line.
struct FirstCell {
  std::string text;
  CsvCell at;  // without text
};

// ColumnCount counts what the cells of a column are.
struct ColumnCount {
  std::int64_t missing = 0, numbers = 0, others = 0;  // cells
  std::int64_t dates_month_first = 0, dates_day_first = 0;
  std::unordered_set<std::string> distinct = {};  // up to kMostDistinct + 1
  CsvCell first_other = {};                       // that is no number; without text
  std::string first_other_text = {};
  ColumnOffsets offsets = {};

  std::int64_t present() const { return numbers + others; }
  bool is_of_numbers() const { return numbers > 0 && others == 0; }
  bool is_of_dates() const {
    return numbers == 0 && others > 0 && std::max(dates_month_first, dates_day_first) == others;
  }

  void add(std::string_view text, const CsvCell& at, char decimal) {
    if (is_missing(text)) {
      ++missing;
      return;
    }
    if (distinct.size() <= kMostDistinct) distinct.emplace(text);
    if (const auto number = number_in(text, decimal)) {
      ++numbers;
      offsets.numbers.add(*number);
      return;
    }
    if (others++ == 0) {
      first_other = {{}, at.line, at.column};
      first_other_text = text;
    }
    // Once a column has text of another kind, dates are no longer looked for.
    if (std::max(dates_month_first, dates_day_first) + 1 < others) return;
    const auto month_first = days_in(text, DateOrder::kMonthFirst);
    const auto day_first = days_in(text, DateOrder::kDayFirst);
    dates_month_first += month_first ? 1 : 0;
    dates_day_first += day_first ? 1 : 0;
    if (month_first) offsets.days_month_first.add(*month_first);
    if (day_first) offsets.days_day_first.add(*day_first);
  }
};

class Looker {
 public:
  Looker(const DataConfig& config, const std::string& path, OpenCsv file)
      : config_(config), path_(path), file_(std::move(file)) {
    look_.separator = file_.dialect.separator;
    look_.decimal = file_.dialect.decimal;
  }

  Result<TableLook> look() {
    DETOL_TRY(count());
    look_.has_header = has_header();
    if (!look_.has_header) {
      for (std::size_t i = 0; i < first_.size(); ++i) add(i, first_[i].text, first_[i].at);
      ++look_.records;
    }
    if (look_.records == 0)
      return fail(ErrorCode::kInput, path_ + ": there is no record below the header");
    DETOL_TRY(name_columns());
    DETOL_TRY(find_labels());
    DETOL_TRY(choose_columns());
    for (std::size_t i = 0; i < counts_.size(); ++i) DETOL_TRY(describe(i));
    std::vector<ColumnOffsets> offsets;
    for (ColumnCount& count : counts_) offsets.push_back(std::move(count.offsets));
    fill_offsets(look_, offsets, config_);
    if (columns_used(look_, ColumnUse::kInput).empty()) {
      return fail(ErrorCode::kInput,
                  fmt::format("{}: no column is left to learn from; {}", path_, join_remarks()));
    }
    return std::move(look_);
  }

 private:
  void add(std::size_t column, std::string_view text, const CsvCell& at) {
    counts_[column].add(text, at, look_.decimal);
  }

  Result<void> count() {
    DETOL_ASSIGN(const bool any, file_.reader.next());
    if (!any) return fail(ErrorCode::kInput, path_ + ": the file is empty");
    for (const CsvCell& cell : file_.reader.cells())
      first_.push_back({std::string(cell.text), {{}, cell.line, cell.column}});
    counts_.resize(first_.size());
    for (;;) {
      DETOL_ASSIGN(const bool more, file_.reader.next());
      if (!more) return {};
      ++look_.records;
      const auto cells = file_.reader.cells();
      for (std::size_t i = 0; i < cells.size(); ++i) add(i, cells[i].text, cells[i]);
    }
  }

  bool has_header() const {
    if (config_.columns.header) return *config_.columns.header;
    const bool is_named = std::ranges::any_of(config_.labels, [&](const std::string& label) {
      return !is_place(label) && std::ranges::find(first_, label, &FirstCell::text) != first_.end();
    });
    if (is_named) return true;
    const auto is_text = [&](const FirstCell& cell) {
      return !is_missing(cell.text) && !number_in(cell.text, look_.decimal) &&
             !days_in(cell.text, DateOrder::kDayFirst);
    };
    bool has_plain_columns = false;
    for (std::size_t i = 0; i < first_.size(); ++i) {
      if (!counts_[i].is_of_numbers() && !counts_[i].is_of_dates()) continue;
      has_plain_columns = true;
      if (is_text(first_[i])) return true;
    }
    if (has_plain_columns || !std::ranges::all_of(first_, is_text)) return false;
    std::unordered_set<std::string> names;
    for (std::size_t i = 0; i < first_.size(); ++i) {
      if (!names.insert(first_[i].text).second || counts_[i].distinct.contains(first_[i].text))
        return false;
    }
    return true;
  }

  Result<void> name_columns() {
    for (std::size_t i = 0; i < first_.size(); ++i) {
      ColumnLook column;
      column.name = fmt::format("column_{}", i + 1);
      if (look_.has_header && !first_[i].text.empty()) {
        if (!is_utf8(first_[i].text))
          return error_at(first_[i].at, fmt::format("the name {} is not UTF-8; save the file as "
                                                    "UTF-8",
                                                    in_quotes(first_[i].text)));
        column.name = first_[i].text;
      }
      const auto is_taken = [&] {
        return std::ranges::find(look_.columns, column.name, &ColumnLook::name) !=
               look_.columns.end();
      };
      const std::string name = column.name;
      for (int n = 1; is_taken(); ++n) column.name = fmt::format("{}.{}", name, n);
      look_.columns.push_back(std::move(column));
    }
    return {};
  }

  tl::unexpected<Error> error_at(const CsvCell& at, std::string_view what) const {
    return file_.reader.error_at(at, what);
  }

  // Returns the column of that name. Errors name the key of the space file.
  Result<std::size_t> column_called(std::string_view name, std::string_view key) const {
    std::vector<std::string_view> names;
    for (const ColumnLook& column : look_.columns) names.push_back(column.name);
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    const std::string_view hint =
        look_.has_header ? "" : "; the file has no header, or data.header: true is missing";
    return error_at(first_.front().at,
                    fmt::format("{}: {}{}", key, unknown_name("column", name, names), hint));
  }

  Result<void> find_labels() {
    const std::vector<std::string> labels = label_columns(config_);
    if (first_.size() < labels.size() + 1) {
      if (first_.size() > 1)
        return error_at(first_.front().at,
                        fmt::format("{} columns; there must be {} labels and at least one more",
                                    first_.size(), labels.size()));
      return error_at(first_.front().at,
                      "one column; there must be a label and at least one more; if its cells are "
                      "separated by something else than commas, semicolons, tabs or bars, say "
                      "data.separator");
    }
    for (const std::string& label : labels) {
      DETOL_ASSIGN(const std::size_t column, label_column(label));
      if (look_.columns[column].use == ColumnUse::kLabel)
        return error_at(first_[column].at,
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
        return error_at(first_[column].at,
                        fmt::format("data.columns.use: {} is the label", in_quotes(name)));
      look_.columns[column].use = ColumnUse::kInput;
    }
    for (const std::string& name : wanted.drop) {
      DETOL_ASSIGN(const auto column, column_called(name, "data.columns.drop"));
      if (look_.columns[column].use == ColumnUse::kLabel)
        return error_at(first_[column].at,
                        fmt::format("data.columns.drop: {} is the label", in_quotes(name)));
      look_.columns[column].use = ColumnUse::kLeftOut;
    }
    for (const auto& [name, type] : wanted.types)
      DETOL_TRY(column_called(name, "data.columns.types"));
    return {};
  }

  // Finds out what an input is, or why it is left out.
  Result<void> describe(std::size_t i) {
    ColumnLook& column = look_.columns[i];
    const ColumnCount& count = counts_[i];
    column.missing = count.missing;
    column.distinct = static_cast<std::int64_t>(std::min(count.distinct.size(), kMostDistinct));
    column.is_day_first = count.dates_day_first > count.dates_month_first;
    if (column.use == ColumnUse::kLabel && !count.is_of_numbers())
      column.kind = ColumnKind::kCategory;
    if (column.use == ColumnUse::kLabel && column.distinct == 1 && count.missing == 0)
      column.remark = "the same in every record: there is nothing to learn";
    if (column.use == ColumnUse::kLabel || column.use == ColumnUse::kLeftOut) return {};
    const auto typed = config_.columns.types.find(column.name);
    if (typed != config_.columns.types.end()) return take_type(i, typed->second);
    if (count.present() == 0) return leave_out(column, "all cells are missing; left out");
    if (count.is_of_numbers()) {
      remark_on_number(column, count);
      return {};
    }
    if (count.numbers >= count.others || config_.sequence) return no_number(i);
    if (count.is_of_dates()) {
      column.kind = ColumnKind::kDate;
      return {};
    }
    column.kind = ColumnKind::kCategory;
    if (column.distinct == 1) column.remark = "the same in every record";
    const bool is_text =
        count.distinct.size() > kMostDistinct ||
        (column.distinct > kFewCategories && column.distinct > count.present() / 4);
    if (is_text && column.use == ColumnUse::kInput) {
      return leave_out(column, fmt::format("text ({}{} different cells in {} records), left out; "
                                           "data.columns.types: {{{}: category}} uses it",
                                           count.distinct.size() > kMostDistinct ? "over " : "",
                                           column.distinct, look_.records, column.name));
    }
    return {};
  }

  Result<void> take_type(std::size_t i, const std::string& type) {
    ColumnLook& column = look_.columns[i];
    const ColumnCount& count = counts_[i];
    if (type == "category") {
      column.kind = ColumnKind::kCategory;
    } else if (type == "date") {
      column.kind = ColumnKind::kDate;
      if (!count.is_of_dates() && count.present() > 0)
        return error_at(count.others > 0 ? count.first_other : first_[i].at,
                        fmt::format("column {} is typed as date, but not all of its cells are "
                                    "dates such as 2024-03-01",
                                    in_quotes(column.name)));
    } else if (count.others > 0) {
      return no_number(i);
    }
    return {};
  }

  tl::unexpected<Error> no_number(std::size_t i) const {
    const ColumnCount& count = counts_[i];
    const ColumnLook& column = look_.columns[i];
    return error_at(
        count.first_other,
        fmt::format("{} is no number, as the other cells of column {} are; correct it, "
                    "leave it empty, or say data.columns.types: {{{}: category}}",
                    in_quotes(count.first_other_text), in_quotes(column.name), column.name));
  }

  static Result<void> leave_out(ColumnLook& column, std::string why) {
    column.remark = std::move(why);
    column.use = ColumnUse::kLeftOut;
    return {};
  }

  void remark_on_number(ColumnLook& column, const ColumnCount& count) const {
    if (column.distinct == 1) column.remark = "the same in every record";
    const bool counts_records =
        std::cmp_equal(count.distinct.size(),
                       std::min<std::int64_t>(look_.records, kMostDistinct + 1)) &&
        look_.records > kFewCategories && sounds_like_an_id(column.name);
    if (counts_records)
      column.remark = fmt::format(
          "differs in every record, as a record's number does; data.columns.drop: [{}] leaves it "
          "out",
          column.name);
  }

  static bool sounds_like_an_id(std::string name) {
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name == "id" || name == "index" || name.ends_with("_id") || name.ends_with(" id") ||
           name.starts_with("unnamed") || name == "rownames" || name == "rowid";
  }

  std::string join_remarks() const {
    std::string all;
    for (const ColumnLook& column : look_.columns) {
      if (!column.remark.empty())
        all +=
            fmt::format("{}{}: {}", all.empty() ? "" : "; ", in_quotes(column.name), column.remark);
    }
    return all.empty() ? "check data.columns" : all;
  }

  const DataConfig& config_;
  const std::string& path_;
  OpenCsv file_;
  TableLook look_;
  std::vector<FirstCell> first_;     // the first line
  std::vector<ColumnCount> counts_;  // of the lines below, and of the first if it is a record
};

}  // namespace

std::vector<std::string> label_columns(const DataConfig& config) {
  return config.labels.empty() ? std::vector<std::string>{"last"} : config.labels;
}

Result<OpenCsv> open_csv(const DataConfig& config, const std::string& path) {
  DETOL_ASSIGN(CsvReader reader, CsvReader::open(path));
  const std::string& separator = config.columns.separator;
  CsvDialect dialect = dialect_of(
      reader.head(), separator.empty() ? std::nullopt : std::optional(separator.front()));
  if (!config.columns.decimal.empty()) dialect.decimal = config.columns.decimal.front();
  reader.set_separator(dialect.separator);
  return OpenCsv{std::move(reader), dialect};
}

Result<TableLook> look_at_table(const DataConfig& config, const std::string& path) {
  DETOL_ASSIGN(OpenCsv file, open_csv(config, path));
  return Looker(config, path, std::move(file)).look();
}

}  // namespace detol::inline trainer

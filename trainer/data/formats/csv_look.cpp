#include "trainer/data/formats/csv_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "core/table.h"
#include "core/utf8.h"
#include "trainer/data/formats/csv_choice.h"
#include "trainer/data/formats/csv_header.h"
#include "trainer/data/formats/csv_offsets.h"
#include "trainer/data/formats/csv_open.h"

namespace detol::inline trainer {
namespace {

constexpr std::size_t kMostDistinct = 10'000;
constexpr std::string_view kWritePlainly =
    "write it without thousands separators and signs: 1234.5, not 1,234.5 or $1234.5 or 1234.5%";
constexpr std::int64_t kFewCategories = 20;  // are categories in a table of any length

// ColumnCount counts what the cells of a column are.
struct ColumnCount {
  std::int64_t missing = 0, numbers = 0, others = 0;  // cells
  std::int64_t dates_month_first = 0, dates_day_first = 0;
  std::int64_t formatted = 0;  // numbers with a thousands separator, % or a currency
  std::unordered_set<std::string> distinct = {};  // up to kMostDistinct + 1
  CsvCell first_other = {};                       // that is no number; without text
  std::string first_other_text = {};
  ColumnOffsets offsets = {};
  RecordNumbers numbering = {};
  CsvCell first_infinite = {};  // or beyond floats; without text
  std::string first_infinite_text = {};

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
    const bool is_new = distinct.size() > kMostDistinct || distinct.emplace(text).second;
    if (const auto number = number_in(text, decimal)) {
      ++numbers;
      offsets.numbers.add(*number);
      numbering.add(*number, is_new);
      if (!std::isfinite(static_cast<float>(*number)) && first_infinite_text.empty()) {
        first_infinite = {{}, at.line, at.column};
        first_infinite_text = text;
      }
      return;
    }
    if (others++ == 0) {
      first_other = {{}, at.line, at.column};
      first_other_text = text;
    }
    if (formatted + 1 == others && is_formatted_number(text, decimal)) ++formatted;
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
    look_.remarks = std::move(file_.remarks);
  }

  Result<TableLook> look() {
    DETOL_TRY(count());
    find_header();
    if (!look_.has_header) {
      for (std::size_t i = 0; i < first_.size(); ++i) {
        add(i, first_[i], first_cells_[i]);
        counts_[i].numbering.move_last_to_front();
      }
      ++look_.records;
    }
    if (look_.records == 0)
      return fail(ErrorCode::kInput, path_ + ": there is no record below the header");
    DETOL_TRY(name_columns());
    DETOL_TRY(choose_columns(config_, file_.reader, first_cells_, look_));
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
    first_ = texts_of(file_.reader.cells());
    for (const CsvCell& cell : file_.reader.cells())
      first_cells_.push_back({{}, cell.line, cell.column});
    counts_.resize(first_.size());
    for (;;) {
      DETOL_ASSIGN(const bool more, file_.reader.next());
      if (!more) return {};
      ++look_.records;
      const auto cells = file_.reader.cells();
      for (std::size_t i = 0; i < cells.size(); ++i) add(i, cells[i].text, cells[i]);
    }
  }

  void find_header() {
    const bool is_named = std::ranges::any_of(config_.labels, [&](const std::string& label) {
      return !is_place(label) && std::ranges::find(first_, label) != first_.end();
    });
    look_.has_header = config_.columns.header.value_or(is_named);
    if (config_.columns.header || is_named) return;
    std::vector<BelowCell> below;
    for (std::size_t i = 0; i < first_.size(); ++i) {
      const ColumnCount& count = counts_[i];
      below.push_back({.is_plain = count.is_of_numbers() || count.is_of_dates(),
                       .has_the_cell = count.distinct.contains(first_[i]),
                       .has_gaps = count.missing > 0,
                       .repeats = std::cmp_less_equal(2 * count.distinct.size(), count.present()),
                       .numbers = &count.numbering,
                       .records = look_.records});
    }
    HeaderGuess guess = guess_header(first_, below, look_.decimal);
    look_.has_header = guess.is_header;
    if (!guess.remark.empty()) look_.remarks.push_back(std::move(guess.remark));
  }

  Result<void> name_columns() {
    const std::vector<std::string> none(first_.size());
    const ColumnNames names(look_.has_header ? first_ : none);
    for (std::size_t i = 0; i < first_.size(); ++i) {
      const std::string& name = names.all()[i];
      if (!is_utf8(name))
        return error_at(first_cells_[i], fmt::format("the name {} is not UTF-8; save the file as "
                                                     "UTF-8",
                                                     in_quotes(name)));
      look_.columns.push_back({.name = name});
      if (look_.has_header && names.find(first_[i]) != i)
        look_.remarks.push_back(fmt::format("another column is called {}; column {} is called {}",
                                            in_quotes(first_[i]), i + 1, in_quotes(name)));
    }
    return {};
  }

  bool has_no_name(std::size_t column) const {
    return look_.has_header && look_.columns[column].name == name_of_place(column) &&
           first_[column] != name_of_place(column);
  }

  tl::unexpected<Error> error_at(const CsvCell& at, std::string_view what) const {
    return file_.reader.error_at(at, what);
  }

  // Finds out what an input is, or why it is left out.
  Result<void> describe(std::size_t i) {
    ColumnLook& column = look_.columns[i];
    const ColumnCount& count = counts_[i];
    column.missing = count.missing;
    column.distinct = static_cast<std::int64_t>(std::min(count.distinct.size(), kMostDistinct));
    column.is_day_first = count.dates_day_first > count.dates_month_first;
    if (column.use == ColumnUse::kLabel) return look_at_label(i);
    if (column.use == ColumnUse::kLeftOut) return {};
    const auto typed = config_.columns.types.find(column.name);
    if (typed != config_.columns.types.end()) return take_type(i, typed->second);
    if (count.present() == 0) return leave_out(column, "all cells are missing; left out");
    if (count.is_of_numbers()) return look_at_number(i);
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
      if (count.formatted == count.others)
        return leave_out(column, fmt::format("numbers as text, such as {}, left out; {}",
                                             in_quotes(count.first_other_text), kWritePlainly));
      return leave_out(column, fmt::format("text ({}{} different cells in {} records), left out; "
                                           "data.columns.types: {{{}: category}} uses it",
                                           count.distinct.size() > kMostDistinct ? "over " : "",
                                           column.distinct, look_.records, as_yaml(column.name)));
    }
    return {};
  }

  Result<void> look_at_label(std::size_t i) {
    ColumnLook& column = look_.columns[i];
    if (!counts_[i].is_of_numbers()) column.kind = ColumnKind::kCategory;
    if (config_.task == TaskKind::kRegression) DETOL_TRY(check_finite(i));
    if (column.distinct == 1 && column.missing == 0)
      column.remark = "the same in every record: there is nothing to learn";
    if (counts_[i].formatted > kFewCategories && counts_[i].formatted == counts_[i].others)
      column.remark = fmt::format("numbers as text, such as {}, of which each is a class; {}",
                                  in_quotes(counts_[i].first_other_text), kWritePlainly);
    if (column.missing == 0) return {};
    column.remark = fmt::format("missing in {} of {} records, {}", column.missing, look_.records,
                                config_.missing_label == "drop" ? "left out"
                                : config_.missing_label == "class"
                                    ? "whose words for that are classes"
                                    : "an error unless data.missing_label: drop leaves them out");
    return {};
  }

  Result<void> check_finite(std::size_t i) const {
    const ColumnCount& count = counts_[i];
    if (count.first_infinite_text.empty()) return {};
    return error_at(
        count.first_infinite,
        fmt::format("{} is not a finite number, as column {} has; correct it, or leave "
                    "it empty",
                    in_quotes(count.first_infinite_text), in_quotes(look_.columns[i].name)));
  }

  Result<void> take_type(std::size_t i, const std::string& type) {
    ColumnLook& column = look_.columns[i];
    const ColumnCount& count = counts_[i];
    if (type == "category") {
      column.kind = ColumnKind::kCategory;
    } else if (type == "date") {
      column.kind = ColumnKind::kDate;
      if (!count.is_of_dates() && count.present() > 0)
        return error_at(count.others > 0 ? count.first_other : first_cells_[i],
                        fmt::format("column {} is typed as date, but not all of its cells are "
                                    "dates such as 2024-03-01",
                                    in_quotes(column.name)));
    } else if (count.others > 0) {
      return no_number(i);
    } else {
      return check_finite(i);
    }
    return {};
  }

  tl::unexpected<Error> no_number(std::size_t i) const {
    const ColumnCount& count = counts_[i];
    const ColumnLook& column = look_.columns[i];
    if (count.formatted == count.others)
      return error_at(count.first_other, fmt::format("{} in column {} is a number as text; {}",
                                                     in_quotes(count.first_other_text),
                                                     in_quotes(column.name), kWritePlainly));
    return error_at(count.first_other,
                    fmt::format("{} is no number, as the other cells of column {} are; correct it, "
                                "leave it empty, or say data.columns.types: {{{}: category}}",
                                in_quotes(count.first_other_text), in_quotes(column.name),
                                as_yaml(column.name)));
  }

  static Result<void> leave_out(ColumnLook& column, std::string why) {
    column.remark = std::move(why);
    column.use = ColumnUse::kLeftOut;
    return {};
  }

  // Remarks on a column of numbers; a nameless one that numbers the records is an index that pandas
  // wrote, and left out.
  Result<void> look_at_number(std::size_t i) {
    ColumnLook& column = look_.columns[i];
    const RecordNumbers& numbers = counts_[i].numbering;
    if (column.use == ColumnUse::kInput) DETOL_TRY(check_finite(i));
    if (column.distinct == 1) column.remark = "the same in every record";
    const bool is_index = has_no_name(i) && numbers.are_distinct(look_.records);
    const auto& used = config_.columns.use;
    if (is_index && std::ranges::find(used, column.name) == used.end() &&
        column.use == ColumnUse::kInput) {
      column.is_index = true;
      return leave_out(column, fmt::format("has no name and differs in every record, as an index "
                                           "does; left out; data.columns.types: {{{}: number}} "
                                           "uses it",
                                           column.name));
    }
    std::string remark = remark_on_numbers(numbers, column.name, look_.records);
    if (!remark.empty()) column.remark = std::move(remark);
    return {};
  }

  std::string join_remarks() const {
    std::string all;
    std::size_t odd = 0;
    for (const ColumnLook& column : look_.columns) {
      if (!column.remark.empty() && ++odd <= kMostRemarks)
        all +=
            fmt::format("{}{}: {}", all.empty() ? "" : "; ", in_quotes(column.name), column.remark);
    }
    if (odd > kMostRemarks) all += fmt::format("; and {} more", odd - kMostRemarks);
    return all.empty() ? "check data.columns" : all;
  }

  const DataConfig& config_;
  const std::string& path_;
  OpenCsv file_;
  TableLook look_;
  std::vector<std::string> first_;    // the first line
  std::vector<CsvCell> first_cells_;  // without text
  std::vector<ColumnCount> counts_;   // of the lines below, and of the first if it is a record
};

}  // namespace

Result<TableLook> look_at_table(const DataConfig& config, const std::string& path) {
  DETOL_ASSIGN(OpenCsv file, open_csv(config.columns, path));
  return Looker(config, path, std::move(file)).look();
}

}  // namespace detol::inline trainer

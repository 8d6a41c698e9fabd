#include "trainer/data/formats/csv_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "core/table.h"
#include "trainer/data/formats/csv_dialect.h"

namespace detol::inline trainer {
namespace {

// Returns the number of a cell of digits alone.
std::optional<std::int64_t> count_in(std::string_view cell) {
  std::int64_t count = 0;
  const char* end = cell.data() + cell.size();
  const auto [at, error] = std::from_chars(cell.data(), end, count);
  return error == std::errc() && at == end && count >= 0 ? std::optional(count) : std::nullopt;
}

// FirstLine: the cells of a first line, by what they may be.
class FirstLine {
 public:
  FirstLine(std::span<const std::string> cells, std::span<const BelowCell> below, char decimal)
      : cells_(cells), below_(below) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_number = number_in(cells[i], decimal).has_value();
      if (count_in(cells[i]) && is_number)
        counts_.push_back(i);
      else if (!is_missing(cells[i]) && !is_number && !days_in(cells[i], DateOrder::kDayFirst))
        texts_.push_back(i);
      else if (!cells[i].empty() || i > 0)
        others_.push_back(i);
    }
  }

  bool has_text_above_numbers() const {
    return std::ranges::any_of(texts_, [&](std::size_t i) { return below_[i].is_plain; });
  }

  // Returns whether the first cell is the name that pandas gives to an index: none.
  bool has_nameless_index() const {
    if (!has_empty_corner() || !are_unseen_texts()) return false;
    const BelowCell& column = below_[0];
    const bool counts_on =
        !texts_.empty() && column.is_plain && !column.has_gaps && !column.numbers->has_fractions();
    return counts_on || column.numbers->are_distinct(column.records);
  }

  // Returns whether the numbers of the line count on from cell to cell.
  bool counts() const {
    if (counts_.size() < 2 || !others_.empty()) return false;
    for (std::size_t i = 1; i < counts_.size(); ++i) {
      if (value(i) != value(0) + static_cast<std::int64_t>(i)) return false;
    }
    return true;
  }

  // Returns whether a line that counts does so as a header. REQUIRES: counts().
  bool counts_columns() const {
    const bool repeats_below =
        std::ranges::all_of(counts_, [&](std::size_t i) { return below_[i].has_the_cell; });
    if (has_empty_corner()) return !below_[0].has_gaps;
    if (!texts_.empty()) {
      const auto repeats = [&](std::size_t i) { return below_[i].repeats; };
      return are_unseen_texts() && (counts_.size() > 2 || std::ranges::all_of(texts_, repeats));
    }
    if (value(0) > 1 || repeats_below || counts_records()) return false;
    return (value(0) == 0 && counts_.size() > 2) || has_fractions_below();
  }

  bool is_of_unseen_texts() const {
    std::unordered_set<std::string_view> names;
    return texts_.size() == cells_.size() && std::ranges::all_of(texts_, [&](std::size_t i) {
             return !below_[i].has_the_cell && names.insert(cells_[i]).second;
           });
  }

  // REQUIRES: counts().
  bool may_be_either() const { return are_unseen_texts() && (counts_.size() > 2 || value(0) < 2); }

 private:
  std::int64_t value(std::size_t i) const { return *count_in(cells_[counts_[i]]); }
  bool are_unseen_texts() const {
    return std::ranges::none_of(texts_, [&](std::size_t i) { return below_[i].has_the_cell; });
  }
  bool has_empty_corner() const { return cells_.size() > 1 && cells_[0].empty(); }

  // Returns whether the line's first number begins what the column below it counts on.
  bool counts_records() const {
    const RecordNumbers& numbers = *below_[counts_[0]].numbers;
    return numbers.count_up(below_[0].records) &&
           numbers.first() == static_cast<double>(value(0) + 1);
  }

  bool has_fractions_below() const {
    return std::ranges::any_of(below_, [](const BelowCell& column) {
      return column.numbers->has_fractions() && column.is_plain;
    });
  }

  const std::span<const std::string> cells_;
  const std::span<const BelowCell> below_;
  std::vector<std::size_t> counts_, texts_, others_;  // columns; the empty corner is in none
};

}  // namespace

HeaderGuess guess_header(std::span<const std::string> first, std::span<const BelowCell> below,
                         char decimal) {
  const FirstLine line(first, below, decimal);
  if (line.has_text_above_numbers() || line.has_nameless_index()) return {true};
  const std::vector<std::string_view> cells(
      first.begin(),
      first.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, first.size())));
  const std::string shown = in_quotes(join(cells));
  if (line.counts() && line.counts_columns())
    return {true, fmt::format("the first line, {}{}, counts the columns and is taken for their "
                              "names; data.header: false makes it a record",
                              shown, first.size() > 3 ? " and so on" : "")};
  if (line.counts() && line.may_be_either())
    return {false, fmt::format("the first line, {}{}, is taken for a record; if it names the "
                               "columns, say data.header: true",
                               shown, first.size() > 3 ? " and so on" : "")};
  const bool has_plain_columns =
      std::ranges::any_of(below, [](const BelowCell& column) { return column.is_plain; });
  return {!has_plain_columns && line.is_of_unseen_texts()};
}

}  // namespace detol::inline trainer

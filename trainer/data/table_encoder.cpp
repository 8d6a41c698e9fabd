#include "trainer/data/table_encoder.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <cmath>
#include <numeric>

namespace detol::inline trainer {
namespace {

constexpr std::size_t kMostCategories = 256;  // with an input of their own
constexpr std::int64_t kRare = 3;             // training records

// Moves the values that are more than a share of the sorted ones each, such as the zeros of a
// count, to `frequent`. Returns whether there were any. REQUIRES: shares > 0.
bool take_frequent(std::vector<float>& values, std::size_t shares, std::vector<float>& frequent) {
  const std::size_t share = values.size() / shares;
  std::vector<float> others;
  for (auto at = values.begin(); at != values.end();) {
    const auto end = std::upper_bound(at, values.end(), *at);
    if (static_cast<std::size_t>(end - at) > share)
      frequent.push_back(*at);
    else
      others.insert(others.end(), at, end);
    at = end;
  }
  values.swap(others);
  return values.size() < others.size();
}

// Returns bins + 1 values of the sorted ones, ascending, the first and the last among them; all if
// there are not more different ones. A value that is more than its share is a knot, and the others
// are quantiles of the rest: of a column of which nine tenths are zero, bins would be no use there.
std::vector<float> knots_of(std::vector<float> sorted, int bins) {
  std::vector<float> knots(sorted.begin(), sorted.end());
  knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
  const auto wanted = static_cast<std::size_t>(bins) + 1;
  if (knots.size() <= wanted) return knots;
  knots.clear();
  while (take_frequent(sorted, wanted - 1 - knots.size(), knots)) {
  }
  const std::size_t left = wanted - knots.size();
  for (std::size_t i = 0; i < left; ++i)
    knots.push_back(sorted[i * (sorted.size() - 1) / (left - 1)]);
  std::ranges::sort(knots);
  knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
  return knots;
}

void fit_moments(TableColumn& column, std::span<const float> present) {
  const auto count = static_cast<double>(present.size());
  double sum = 0, squares = 0;
  for (const float x : present) sum += double{x};
  const double mean = sum / count;
  for (const float x : present) squares += (double{x} - mean) * (double{x} - mean);
  const auto deviation = static_cast<float>(std::sqrt(squares / count));
  column.mean = static_cast<float>(mean);
  column.deviation = deviation > 0 ? deviation : 1;
}

void fit_number(TableColumn& column, std::span<const float> cells, int bins) {
  std::vector<float> present;
  std::ranges::copy_if(cells, std::back_inserter(present), [](float x) { return !std::isnan(x); });
  column.marks_missing = present.size() < cells.size();
  if (present.empty()) return;
  fit_moments(column, present);
  std::ranges::sort(present);
  column.fill = present[present.size() / 2];
  if (column.encoding != NumberEncoding::kStandard)
    column.knots = knots_of(std::move(present), bins);
}

void fit_categories(TableColumn& column, const ColumnCells& training) {
  std::vector<std::int64_t> counts(training.dictionary.size(), 0);
  for (const float code : training.numbers) ++counts[static_cast<std::size_t>(code)];
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    if (counts[a] != counts[b]) return counts[a] > counts[b];
    return training.dictionary[a] < training.dictionary[b];
  });
  std::erase_if(order, [&](std::size_t i) { return counts[i] == 0; });
  std::int64_t pooled = 0;
  std::size_t kept = order.size();
  while (kept > 2 && (kept > kMostCategories || counts[order[kept - 1]] < kRare))
    pooled += counts[order[--kept]];
  for (std::size_t i = 0; i < kept; ++i) column.categories.push_back(training.dictionary[order[i]]);
  column.pools_rare = pooled > 0;
}

// Returns how far x is through the interval, from 0 to 1.
float share_of(float x, float low, float high) {
  return std::clamp((x - low) / (high - low), 0.0F, 1.0F);
}

float rank_of(float x, std::span<const float> knots) {
  const std::size_t intervals = knots.size() - 1;
  float passed = 0;
  for (std::size_t i = 0; i < intervals; ++i) passed += share_of(x, knots[i], knots[i + 1]);
  return kLargestRank * (2 * passed / static_cast<float>(intervals) - 1);
}

}  // namespace

std::span<const std::string_view> missing_words() {
  static constexpr std::array<std::string_view, 15> kWords = {
      "",    "?",   "NA",   "N/A",  "n/a",  "#N/A", "<NA>", "NaN",
      "nan", "NAN", "null", "NULL", "None", "-nan", "-NaN"};
  return kWords;
}

std::size_t TableColumn::inputs() const {
  if (kind == ColumnKind::kCategory) return categories.size() + (pools_rare ? 1 : 0);
  const std::size_t mark = marks_missing ? 1 : 0;
  switch (encoding) {
    case NumberEncoding::kStandard:
      return 1 + mark;
    case NumberEncoding::kQuantile:
      return (knots.size() > 1 ? 1 : 0) + mark;
    case NumberEncoding::kPiecewise:
      break;
  }
  return (knots.empty() ? 0 : knots.size() - 1) + mark;
}

float TableColumn::code_of(std::string_view category) const {
  return static_cast<float>(std::ranges::find(categories, category) - categories.begin());
}

std::optional<std::string> TableColumn::category_spelled(std::string_view word) const {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  const auto found = std::ranges::find_if(categories, [&](const std::string& category) {
    return std::ranges::equal(category, word, {}, lower, lower);
  });
  return found != categories.end() ? std::optional(*found) : std::nullopt;
}

void TableColumn::encode(float cell, std::span<float> out) const {
  assert(out.size() == inputs());
  if (kind == ColumnKind::kCategory) {
    std::ranges::fill(out, 0.0F);
    const auto code = static_cast<std::size_t>(cell);
    if (code < out.size()) out[code] = 1;
    return;
  }
  const bool is_missing = std::isnan(cell);
  const float x = is_missing ? fill : cell;
  if (marks_missing) {
    out.back() = is_missing ? 1.0F : 0.0F;
    out = out.first(out.size() - 1);
  }
  if (out.empty()) return;
  if (encoding == NumberEncoding::kPiecewise) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = share_of(x, knots[i], knots[i + 1]);
  } else if (encoding == NumberEncoding::kQuantile) {
    out[0] = rank_of(x, knots);
  } else {
    // As Normaliser computes it for pixels that are not bytes.
    const double center = mean, scale = deviation;
    out[0] = static_cast<float>(1 / scale) * x + static_cast<float>(-center / scale);
  }
}

std::size_t TableEncoder::inputs() const {
  std::size_t sum = 0;
  for (const TableColumn& column : columns) sum += column.inputs();
  return sum;
}

bool TableEncoder::is_linear() const {
  return std::ranges::all_of(columns, [](const TableColumn& column) {
    return column.kind == ColumnKind::kNumber && column.encoding == NumberEncoding::kStandard &&
           !column.marks_missing;
  });
}

void TableEncoder::encode(std::span<const float> record, std::span<float> out) const {
  assert(record.size() == columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::size_t count = columns[i].inputs();
    columns[i].encode(record[i], out.first(count));
    out = out.subspan(count);
  }
}

void fit_column(TableColumn& column, const ColumnCells& training, int bins) {
  if (column.kind == ColumnKind::kCategory)
    fit_categories(column, training);
  else
    fit_number(column, training.numbers, bins);
}

}  // namespace detol::inline trainer

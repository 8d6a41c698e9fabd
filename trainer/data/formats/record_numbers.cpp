#include "trainer/data/formats/record_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "trainer/data/table_look.h"

namespace detol::inline trainer {
namespace {

constexpr double kLargestWhole = 9007199254740992;  // 2^53
constexpr std::array<std::string_view, 14> kIdNames = {
    "id",  "ids", "idx", "index", "no",       "no.",   "nr",
    "nr.", "#",   "row", "rowid", "rownames", "recno", "instant"};

bool is_letter(char c, char first) {
  return c >= first && c < first + 26;
}

}  // namespace

void RecordNumbers::add(double number, bool is_new) {
  const bool is_whole = std::floor(number) == number && std::abs(number) <= kLargestWhole;
  if (!first_) first_ = number;
  has_fractions_ = has_fractions_ || !is_whole;
  is_out_ = is_out_ || !is_whole || !is_new;
  if (is_out_)
    numbers_ = {};
  else
    numbers_.push_back(number);
}

void RecordNumbers::move_last_to_front() {
  if (!numbers_.empty()) std::rotate(numbers_.begin(), numbers_.end() - 1, numbers_.end());
}

bool RecordNumbers::grow() const {
  return std::ranges::adjacent_find(numbers_, std::greater_equal{}) == numbers_.end();
}

bool RecordNumbers::are_distinct(std::int64_t records) const {
  if (numbers_.empty() || std::cmp_not_equal(numbers_.size(), records)) return false;
  if (grow()) return true;
  std::vector<double> sorted = numbers_;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end();
}

bool RecordNumbers::count_up(std::int64_t records) const {
  return are_distinct(records) && grow() &&
         numbers_.back() - numbers_.front() + 1 == static_cast<double>(records);
}

bool RecordNumbers::are_dense(std::int64_t records) const {
  if (!are_distinct(records)) return false;
  const auto [least, largest] = std::ranges::minmax_element(numbers_);
  const double most = grow() ? 10 : 2;
  return *largest - *least < most * static_cast<double>(records);
}

bool sounds_like_an_id(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return is_letter(c, 'A') ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (std::ranges::find(kIdNames, lower) != kIdNames.end() || lower.starts_with("unnamed"))
    return true;
  for (const char* end :
       {"_id", " id", "-id", ".id", "_no", " no", "_nr", " nr", " number", "_number", "_index"}) {
    if (lower.ends_with(end)) return true;
  }
  // PassengerId, customerID, EmployeeNumber
  for (const std::string_view end : {"Id", "ID", "Number"}) {
    if (name.size() > end.size() && name.ends_with(end) &&
        is_letter(name[name.size() - end.size() - 1], 'a'))
      return true;
  }
  return false;
}

std::string remark_on_numbers(const RecordNumbers& numbers, std::string_view name,
                              std::int64_t records) {
  constexpr std::int64_t kFewRecords = 20;
  if (records <= kFewRecords || !numbers.are_distinct(records)) return {};
  const std::string remedy = fmt::format("data.columns.drop: [{}] leaves it out", as_yaml(name));
  if (numbers.count_up(records)) return "counts the records; " + remedy;
  if (!numbers.are_dense(records) && !sounds_like_an_id(name)) return {};
  return "differs in every record, as a record's number does; " + remedy;
}

}  // namespace detol::inline trainer

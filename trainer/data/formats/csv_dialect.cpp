#include "trainer/data/formats/csv_dialect.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "trainer/data/table_encoder.h"

namespace detol::inline trainer {
namespace {

constexpr std::size_t kMostLines = 100;

constexpr std::array kSeparators = {',', ';', '\t', '|'};

// Returns how often the separator stands outside quotes in each of the first lines; blank lines are
// left out, as is a last line that may be cut.
std::vector<std::size_t> counts_of(std::string_view head, char separator) {
  std::vector<std::size_t> counts;
  std::size_t count = 0, length = 0;
  bool is_quoted = false;
  for (const char c : head) {
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted || (c != '\n' && c != separator)) {
      length += c == '\r' || c == ' ' ? 0 : 1;
      continue;
    }
    if (c == separator) {
      ++count;
      continue;
    }
    if (length + count > 0) counts.push_back(count);
    if (counts.size() == kMostLines) return counts;
    count = length = 0;
  }
  if (counts.empty() && count > 0) counts.push_back(count);
  return counts;
}

// Fit: how well a separator explains the lines: how many have the most frequent number of cells.
struct Fit {
  std::size_t lines = 0;
  std::size_t cells = 0;  // of these lines, less one

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a 0 in a defaulted <=>
  friend auto operator<=>(const Fit& a, const Fit& b) = default;
};

Fit fit_of(std::string_view head, char separator) {
  std::map<std::size_t, std::size_t> lines;
  for (const std::size_t count : counts_of(head, separator)) ++lines[count];
  lines.erase(0);
  Fit best;
  for (const auto& [cells, count] : lines) best = std::max(best, Fit{count, cells});
  return best;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Returns whether numbers of the lines have a decimal comma, and none a decimal point.
bool has_decimal_commas(std::string_view head, char separator) {
  const auto between_digits = [&](std::size_t i) {
    return i > 0 && i + 1 < head.size() && is_digit(head[i - 1]) && is_digit(head[i + 1]);
  };
  const auto is_cell = [&](std::size_t i) {  // digits from one separator to the next
    const std::string_view ends("\n\r\t\"; |");
    std::size_t first = i, last = i + 1;
    while (first > 0 && is_digit(head[first - 1])) --first;
    while (last < head.size() && is_digit(head[last])) ++last;
    if (first > 0 && (head[first - 1] == '-' || head[first - 1] == '+')) --first;
    const auto ends_cell = [&](char c) {
      return c == separator || ends.find(c) != std::string_view::npos;
    };
    return (first == 0 || ends_cell(head[first - 1])) &&
           (last == head.size() || ends_cell(head[last]));
  };
  std::size_t commas = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (!between_digits(i) || !is_cell(i)) continue;
    if (head[i] == '.') return false;
    commas += head[i] == ',' ? 1 : 0;
  }
  return commas > 0;
}

// Fields reads whole numbers between given characters, front to back.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}

  bool number(int& out, std::size_t& digits) {
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), out);
    if (error != std::errc() || text_.empty() || !is_digit(text_.front())) return false;
    digits = static_cast<std::size_t>(end - text_.data());
    text_.remove_prefix(digits);
    return true;
  }

  bool number(int& out) {
    std::size_t digits = 0;
    return number(out, digits);
  }

  std::optional<char> any_of(std::string_view characters) {
    if (text_.empty() || characters.find(text_.front()) == std::string_view::npos)
      return std::nullopt;
    const char found = text_.front();
    text_.remove_prefix(1);
    return found;
  }

  bool is_at_end() const { return text_.empty(); }

  // Returns the fraction of a second that follows, or 0; skips the letter of universal time.
  double fraction() {
    double fraction = 0;
    if (any_of(".")) {
      for (double place = 0.1; !text_.empty() && is_digit(text_.front()); place /= 10) {
        fraction += place * (text_.front() - '0');
        text_.remove_prefix(1);
      }
    }
    any_of("Z");
    return fraction;
  }

 private:
  std::string_view text_;
};

// Returns the time of day as a fraction of a day; nullopt if the rest is no time.
std::optional<double> time_in(Fields& fields) {
  if (fields.is_at_end()) return 0;
  int hour = 0, minute = 0, second = 0;
  double fraction = 0;
  if (!fields.any_of(" T") || !fields.number(hour) || !fields.any_of(":") || !fields.number(minute))
    return std::nullopt;
  if (fields.any_of(":")) {
    if (!fields.number(second)) return std::nullopt;
    fraction = fields.fraction();
  }
  if (!fields.is_at_end() || hour > 24 || minute > 59 || second > 60) return std::nullopt;
  return (hour * 3600.0 + minute * 60.0 + second + fraction) / 86400;
}

}  // namespace

CsvDialect dialect_of(std::string_view head, std::optional<char> separator) {
  CsvDialect dialect;
  if (separator) {
    dialect.separator = *separator;
  } else {
    Fit best;
    for (const char candidate : kSeparators) {
      const Fit fit = fit_of(head, candidate);
      if (fit <= best) continue;
      best = fit;
      dialect.separator = candidate;
    }
  }
  if (dialect.separator != ',' && has_decimal_commas(head, dialect.separator))
    dialect.decimal = ',';
  return dialect;
}

bool is_missing(std::string_view cell) {
  const auto words = missing_words();
  return std::ranges::find(words, cell) != words.end();
}

std::optional<double> number_in(std::string_view text, char decimal) {
  std::string with_point;
  if (decimal != '.' && text.find(decimal) != std::string_view::npos) {
    if (text.find('.') != std::string_view::npos) return std::nullopt;
    with_point = text;
    std::ranges::replace(with_point, decimal, '.');
    text = with_point;
  }
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_formatted_number(std::string_view text, char decimal) {
  constexpr std::array<std::string_view, 5> kSigns = {"%", "$", "\xe2\x82\xac", "\xc2\xa3", " "};
  std::string plain;
  while (!text.empty()) {
    const auto sign =
        std::ranges::find_if(kSigns, [&](std::string_view one) { return text.starts_with(one); });
    if (sign == kSigns.end()) plain += text.front();
    text.remove_prefix(sign == kSigns.end() ? 1 : sign->size());
  }
  std::string digits;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    const bool separates = plain[at] != decimal && (plain[at] == ',' || plain[at] == '.');
    if (!separates) digits += plain[at];
    // Digits in groups of three follow a separator.
    const auto is_digit_at = [&](std::size_t i) { return i < plain.size() && is_digit(plain[i]); };
    if (separates && (at == 0 || !is_digit_at(at + 1) || !is_digit_at(at + 2) ||
                      !is_digit_at(at + 3) || is_digit_at(at + 4)))
      return false;
  }
  return !digits.empty() && (is_digit(digits.front()) || digits.front() == '-') &&
         number_in(digits, decimal).has_value();
}

std::optional<double> days_in(std::string_view text, DateOrder order) {
  Fields fields(text);
  int first = 0, second = 0, third = 0;
  std::size_t digits = 0, year_digits = 0;
  if (!fields.number(first, digits)) return std::nullopt;
  const auto separator = fields.any_of("-/.");
  if (!separator || !fields.number(second) || !fields.any_of({&*separator, 1}) ||
      !fields.number(third, year_digits))
    return std::nullopt;
  int year = third, month = second, day = first;
  if (digits == 4) {
    year = first;
    day = third;
    year_digits = digits;
  } else if (*separator == '/' && order == DateOrder::kMonthFirst) {
    month = first;
    day = second;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (year_digits != 4 || month < 1 || day < 1 || !date.ok()) return std::nullopt;
  const auto time = time_in(fields);
  if (!time) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days) + *time;
}

}  // namespace detol::inline trainer

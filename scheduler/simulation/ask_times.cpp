#include "scheduler/simulation/ask_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/table.h"

namespace detol::inline scheduler {
namespace {

struct AskTimesRow {
  std::string_view name;   // of a searcher
  std::string_view table;  // as AskTimes::parse reads it
};

// Measured with a function of five parameters (experiments/scheduler/LOG.md).
constexpr std::string_view kOthers = "0.002";
constexpr std::array kRows = {
    AskTimesRow{"gp", "20=0.1,40=3,200=5,1000=18,2048=45"},
    AskTimesRow{"tpe", "20=0.01,200=0.2,1000=0.8,2000=3.5,4000=12"},
    AskTimesRow{"portfolio", "20=0.1,40=2,200=4,1000=12,2048=30"},
};

std::optional<double> number_from(std::string_view word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_good = error == std::errc() && end == word.data() + word.size() && number >= 0 &&
                       std::isfinite(number);
  return is_good ? std::optional(number) : std::nullopt;
}

}  // namespace

AskTimes AskTimes::of(std::string_view algorithm) {
  const AskTimesRow* row = find_row<AskTimesRow>(kRows, algorithm);
  return *parse(row == nullptr ? kOthers : row->table);
}

Result<AskTimes> AskTimes::parse(std::string_view text) {
  AskTimes times;
  std::string_view rest = text;
  do {
    const std::string_view point = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(point.size() + 1, rest.size()));
    const std::size_t equals = point.find('=');
    const auto told = equals == std::string_view::npos ? std::optional(0.0)
                                                       : number_from(point.substr(0, equals));
    const auto ms =
        number_from(equals == std::string_view::npos ? point : point.substr(equals + 1));
    const bool grows = times.points_.empty() || (told && *told > times.points_.back().first);
    if (!told || !ms || !grows)
      return fail(ErrorCode::kUsage,
                  fmt::format("'{}' is no table of times; it must be trials told = milliseconds, "
                              "such as 0=0.5,1000=20",
                              text));
    times.points_.emplace_back(*told, *ms);
  } while (!rest.empty());
  return times;
}

double AskTimes::seconds(double told) const {
  const auto after = std::ranges::upper_bound(points_, told, {}, &std::pair<double, double>::first);
  if (after == points_.begin()) return points_.front().second / 1e3;
  const auto& [low, low_ms] = *(after - 1);
  if (after == points_.end()) return low_ms / 1e3;
  const double share = (told - low) / (after->first - low);
  return std::lerp(low_ms, after->second, share) / 1e3;
}

std::string AskTimes::text() const {
  std::string text;
  for (const auto& [told, ms] : points_)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", told, ms);
  return text;
}

}  // namespace detol::inline scheduler

#include "trainer/programs/report_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/descriptor.h"
#include "core/json_text.h"
#include "core/table.h"
#include "core/utf8.h"

namespace detol::inline trainer {
namespace {

using nlohmann::json;

constexpr const char* kNote = "detol";  // the name of what is no metric but a note of ours
constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kMostMistakes = 3;
constexpr std::size_t kMostNames = 8;    // of metrics, in a message
constexpr std::size_t kMostQuoted = 60;  // of a text, in a message

// Returns the number that a word is which names one that is not finite, as any language writes it:
// NaN, nan, -nan, Infinity, inf, -INF.
std::optional<double> not_finite(std::string_view word) {
  const bool is_negative = word.starts_with('-');
  if (is_negative || word.starts_with('+')) word.remove_prefix(1);
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (lower != "inf" && lower != "infinity") return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  return is_negative ? -infinity : infinity;
}

// Returns the letters that a text begins with, and a sign before them.
std::string_view word_in_front(std::string_view text) {
  std::size_t end = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])) != 0) ++end;
  return text.substr(0, end);
}

// Puts numbers that are not finite into quotes, since JSON has none.
std::string as_json(std::string_view line) {
  std::string text;
  bool is_quoted = false;
  for (std::size_t at = 0; at < line.size();) {
    const std::string_view word = is_quoted ? "" : word_in_front(line.substr(at));
    if (!word.empty()) {
      text += not_finite(word) ? fmt::format("\"{}\"", word) : std::string(word);
      at += word.size();
      continue;
    }
    const bool is_escaped = is_quoted && line[at] == '\\' && at + 1 < line.size();
    if (line[at] == '"') is_quoted = !is_quoted;
    text += line.substr(at, is_escaped ? 2 : 1);
    at += is_escaped ? 2 : 1;
  }
  return text;
}

std::optional<double> number_in(const json& value) {
  if (value.is_number()) return value.get<double>();
  return value.is_string() ? not_finite(value.get<std::string>()) : std::nullopt;
}

std::string described(const json& value) {
  if (value.is_string())
    return "the text " + in_quotes(value.get<std::string>().substr(0, kMostQuoted));
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return compact(value);  // null, true, false
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + printable(name);
  return list;
}

// Returns what stands in a line as a terminal shows it: what follows its last carriage return.
std::string_view shown(std::string_view line) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // .NET begins a file with it
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  while (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(line.rfind('\r') + 1);  // 0 where there is none
}

}  // namespace

Result<void> append_line(const std::filesystem::path& path, std::string_view line) {
  std::ofstream file(path, std::ios::app);
  file << line << '\n' << std::flush;
  if (file) return {};
  return cannot("write", path, ErrorCode::kStorage);
}

Result<ReportLines> ReportLines::open(const std::filesystem::path& path,
                                      std::vector<std::string> wanted) {
  std::ifstream before(path, std::ios::binary | std::ios::ate);
  const bool is_unfinished =
      before && before.tellg() > 0 && before.seekg(-1, std::ios::end).get() != '\n';
  std::ofstream file(path, std::ios::app);
  if (is_unfinished) file << '\n' << std::flush;
  if (!file) return cannot("write", path, ErrorCode::kStorage);
  return ReportLines(path, std::move(wanted));
}

Result<void> ReportLines::begins_again() const {
  if (reported_ == 0) return {};
  return append_line(path_, compact(json{{kNote, "the program begins with its first step again"}}));
}

std::vector<StepReport> ReportLines::read() {
  std::vector<StepReport> reports;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path_, ignored)) return reports;  // a pipe would not end
  std::ifstream file(path_, std::ios::binary);
  if (!file) return reports;
  file.seekg(read_);
  char bytes[1 << 16];
  while (file.read(bytes, sizeof bytes), file.gcount() > 0) {
    read_ += file.gcount();
    for (const char c : std::string_view(bytes, static_cast<std::size_t>(file.gcount()))) {
      if (c != '\n') {
        if (rest_.size() < kLongestLine) rest_ += c;
        continue;
      }
      take(rest_, reports);
      rest_.clear();
    }
  }
  return reports;
}

std::vector<StepReport> ReportLines::unended() {
  std::vector<StepReport> reports;
  if (is_json(as_json(shown(rest_)))) take(std::exchange(rest_, {}), reports);
  return reports;
}

void ReportLines::take(std::string_view line, std::vector<StepReport>& reports) {
  ++lines_;
  line = shown(line);
  if (line.find_first_not_of(" \t") == std::string_view::npos) return;
  const json read = json_or_discarded(as_json(line));
  if (!read.is_object())
    return mistake(is_utf8(line) ? "it is no JSON object" : "it has bytes that are not UTF-8");
  has_object_ = true;
  if (read.size() == 1 && read.contains(kNote) && read[kNote].is_string()) {
    complete_ = 0;
    pending_ = {};
    return;
  }
  if (!begin_step(read)) return;
  for (const auto& [name, value] : read.items()) {
    if (name == "step" || name == "epoch") continue;
    take_metric(name, value);
  }
  const auto is_there = [&](const std::string& name) { return pending_.metrics.contains(name); };
  if (!std::ranges::all_of(wanted_, is_there)) return;
  complete_ = pending_.step;
  if (complete_ > reported_) {
    reported_ = complete_;
    reports.push_back(std::move(pending_));
  }
  pending_ = {};
}

// Makes pending_ that of the line's step; returns false if the line does not count.
bool ReportLines::begin_step(const json& line) {
  auto key = line.find("step");
  if (key == line.end()) key = line.find("epoch");
  int step = std::max(complete_ + 1, pending_.step);
  if (key == line.end()) {
    ++unnumbered_;
  } else {
    const double written = number_in(*key).value_or(-1);
    if (!(written >= 0 && written < 1e9) || written != std::floor(written)) {
      mistake("its step is no whole number from 0 to 1e9");
      return false;
    }
    if (written == 0 && reported_ == 0) counts_from_0_ = true;
    step = static_cast<int>(written) + (counts_from_0_ ? 1 : 0);
    if (step <= reported_) return false;
  }
  if (step != pending_.step) pending_ = {.step = step, .metrics = {}};
  return true;
}

void ReportLines::take_metric(const std::string& name, const json& value) {
  if (const auto number = number_in(value)) {
    pending_.metrics[name] = *number;
    const bool is_known = std::ranges::find(seen_, name) != seen_.end();
    if (!is_known && seen_.size() < kMostNames) seen_.push_back(name);
  } else if (std::ranges::find(wanted_, name) != wanted_.end()) {
    mistake(fmt::format("{} is {}; it must be a number", printable(name), described(value)));
  }
}

std::string ReportLines::why_none() const {
  if (reported_ > 0) return {};
  if (!mistakes_.empty()) return mistakes_.front();
  if (!has_object_) return {};
  return fmt::format("it reported {}; {} {}", seen_.empty() ? "no number" : listed(seen_),
                     wanted_.size() == 1 ? "the objective is" : "a report needs", listed(wanted_));
}

void ReportLines::mistake(std::string what) {
  if (mistakes_.size() < kMostMistakes)
    mistakes_.push_back(fmt::format("line {} of the report: {}", lines_, what));
}

}  // namespace detol::inline trainer

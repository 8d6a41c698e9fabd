#include "trainer/programs/report_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/descriptor.h"
#include "core/json_text.h"
#include "core/table.h"

namespace detol::inline trainer {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kMostMistakes = 3;
constexpr std::string_view kNotFinite[] = {"-Infinity", "Infinity", "NaN"};

// Puts numbers that are not finite, as Python writes them, into quotes, since JSON has none.
std::string as_json(std::string_view line) {
  std::string text;
  bool is_quoted = false;
  for (std::size_t at = 0; at < line.size();) {
    const auto word = std::ranges::find_if(
        kNotFinite, [&](std::string_view one) { return line.substr(at).starts_with(one); });
    if (!is_quoted && word != std::end(kNotFinite)) {
      text += fmt::format("\"{}\"", *word);
      at += word->size();
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
  if (!value.is_string()) return std::nullopt;
  const auto text = value.get<std::string>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
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

std::vector<StepReport> ReportLines::read() {
  std::vector<StepReport> reports;
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
  if (is_json(as_json(rest_))) take(std::exchange(rest_, {}), reports);
  return reports;
}

void ReportLines::take(std::string_view line, std::vector<StepReport>& reports) {
  ++lines_;
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  const json read = json_or_discarded(as_json(line));
  if (!read.is_object()) return mistake("it is no JSON object");
  auto key = read.find("step");
  if (key == read.end()) key = read.find("epoch");
  int step = std::max(reported_ + 1, pending_.step);
  if (key != read.end()) {
    const double written = number_in(*key).value_or(-1);
    if (!(written >= 0 && written < 1e9) || written != std::floor(written))
      return mistake("its step is no whole number from 0 to 1e9");
    if (written == 0 && reported_ == 0) counts_from_0_ = true;
    step = static_cast<int>(written) + (counts_from_0_ ? 1 : 0);
  }
  if (step <= reported_) return;
  if (step != pending_.step) pending_ = {.step = step, .metrics = {}};
  for (const auto& [name, value] : read.items()) {
    if (name == "step" || name == "epoch") continue;
    if (const auto number = number_in(value)) pending_.metrics[name] = *number;
  }
  const auto is_there = [&](const std::string& name) { return pending_.metrics.contains(name); };
  if (!std::ranges::all_of(wanted_, is_there)) return;
  reported_ = step;
  reports.push_back(std::move(pending_));
  pending_ = {};
}

void ReportLines::mistake(std::string what) {
  if (mistakes_.size() < kMostMistakes)
    mistakes_.push_back(fmt::format("line {} of the report: {}", lines_, what));
}

}  // namespace detol::inline trainer

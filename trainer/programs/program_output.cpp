#include "trainer/programs/program_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/json_numbers.h"
#include "core/json_text.h"
#include "core/table.h"
#include "trainer/programs/report_lines.h"

namespace detol::inline trainer {
namespace {

constexpr std::size_t kMostLogged = std::size_t{16} << 20;
constexpr std::size_t kSearched = 4096;  // of a line: std::regex takes stack for each character
constexpr std::size_t kQuoted = 200;     // of the last line that a failed program printed

// Returns the number that a text begins with. "0,5" is no 0: what follows the comma would be lost.
std::optional<double> number_in_front(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_cut = end[0] == ',' && std::isdigit(static_cast<unsigned char>(end[1])) != 0;
  if (end == text.c_str() || is_cut) return std::nullopt;
  return number;
}

}  // namespace

ProgramOutput::ProgramOutput(const std::filesystem::path& path, int attempt,
                             std::vector<Pattern> patterns)
    : file_(path, std::ios::app), patterns_(std::move(patterns)) {
  if (attempt > 1) file_ << fmt::format("--- attempt {}\n", attempt);
}

Result<void> ProgramOutput::read(int descriptor, const std::filesystem::path& report) {
  char bytes[1 << 16];
  for (int i = 0; i < 16; ++i) {
    const ssize_t count = ::read(descriptor, bytes, sizeof bytes);
    if (count <= 0) break;
    const std::string_view text(bytes, static_cast<std::size_t>(count));
    log(text);
    for (const char c : text) {
      if (const auto line = line_.take(c)) DETOL_TRY(search(*line, report));
    }
  }
  if (!file_.flush()) file_.clear();  // the disk is full: what comes later may be kept
  return {};
}

Result<void> ProgramOutput::end(const std::filesystem::path& report) {
  return line_.text().empty() ? Result<void>() : search(line_.end(), report);
}

std::string ProgramOutput::last_words() const {
  const std::string& line = line_.text().empty() ? last_line_ : line_.text();
  return line.empty() ? "" : ": " + line.substr(0, kQuoted);
}

void ProgramOutput::log(std::string_view text) {
  const std::size_t room = kMostLogged - std::min(kMostLogged, logged_);
  file_ << text.substr(0, room);
  if (logged_ < kMostLogged && logged_ + text.size() >= kMostLogged)
    file_ << "\n--- what follows is not kept\n";
  logged_ += text.size();
}

Result<void> ProgramOutput::search(const std::string& line, const std::filesystem::path& report) {
  nlohmann::ordered_json found = nlohmann::ordered_json::object();
  const std::string searched = line.substr(0, kSearched);
  for (const auto& [metric, expression] : patterns_) {
    std::smatch match;
    if (!std::regex_search(searched, match, expression)) continue;
    const std::string text = match[1];
    if (const auto number = number_in_front(text))
      found[metric] = json_number<nlohmann::ordered_json>(*number);
    else if (mistake_.empty())
      mistake_ =
          fmt::format("command.prints.{} found {}, which is not a number", metric, in_quotes(text));
  }
  if (line.find_first_not_of(' ') != std::string::npos) last_line_ = line;
  return found.empty() ? Result<void>() : append_line(report, compact(found));
}

}  // namespace detol::inline trainer

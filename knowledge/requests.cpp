#include "knowledge/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>

#include "core/file.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

struct Name {
  RunRequest::Kind kind;
  std::string_view text;  // the number of the trial follows
  bool has_trial;
};

constexpr std::array kNames = {Name{RunRequest::kStop, "stop-requested", false},
                               Name{RunRequest::kPrune, "prune-requested-", true},
                               Name{RunRequest::kRetry, "retry-requested-", true},
                               Name{RunRequest::kBudget, "budget-requested", false}};

fs::path file_of(const fs::path& folder, const RunRequest& request) {
  const Name& name = kNames[request.kind];
  return folder /
         (name.has_trial ? fmt::format("{}{}", name.text, request.trial) : std::string(name.text));
}

// Returns the request that a file of this name is, but for what the file holds.
std::optional<RunRequest> request_of(const std::string& file) {
  for (const Name& name : kNames) {
    if (!name.has_trial && file == name.text) return RunRequest{name.kind};
    if (!name.has_trial || !file.starts_with(name.text)) continue;
    RunRequest request{name.kind};
    const char* end = file.data() + file.size();
    const auto read = std::from_chars(file.data() + name.text.size(), end, request.trial);
    // Another spelling of the number, as 007, would be answered and never removed.
    if (read.ec == std::errc() && file_of({}, request) == file) return request;
  }
  return std::nullopt;
}

// Returns the budget that a file asks for. What is too long for one becomes a text that is none, so
// that whoever runs the study refuses it as any other.
std::string budget_in(const fs::path& file) {
  constexpr std::size_t kLongest = 1000;
  return read_file(file, kLongest).value_or("unreadable, or longer than 1000 bytes");
}

}  // namespace

Result<fs::path> make_request(const fs::path& folder, const RunRequest& request) {
  const fs::path file = file_of(folder, request);
  std::error_code error;
  if (request.kind == RunRequest::kBudget && fs::exists(file, error))
    return fail(ErrorCode::kUsage,
                "an earlier change of the budget still waits for the search; try again in a while");
  fs::create_directories(folder, error);
  DETOL_TRY(write_file_durably(file, request.budget));
  return file;
}

std::vector<RunRequest> requests_in(const fs::path& folder) {
  std::vector<RunRequest> requests;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    auto request = request_of(at->path().filename().string());
    if (!request) continue;
    if (fs::is_directory(at->symlink_status(error))) continue;  // which nobody could remove
    if (request->kind == RunRequest::kBudget) request->budget = budget_in(at->path());
    requests.push_back(*std::move(request));
  }
  std::ranges::sort(requests, {},
                    [](const RunRequest& one) { return std::pair(one.kind, one.trial); });
  return requests;
}

void remove_request(const fs::path& folder, const RunRequest& request) {
  std::error_code ignored;
  fs::remove(file_of(folder, request), ignored);
}

bool is_request(const fs::path& file) {
  return request_of(file.filename().string()).has_value();
}

}  // namespace detol::inline knowledge

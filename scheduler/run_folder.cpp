#include "scheduler/run_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/file.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kLongestParent = 60;  // a socket's path has 107 characters at most
constexpr std::string_view kPrefix = "detol-";

fs::path parent_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");  // NOLINT(concurrency-mt-unsafe)
  if (runtime == nullptr || std::strlen(runtime) > kLongestParent) return "/tmp";
  return ::access(runtime, W_OK | X_OK) == 0 ? runtime : "/tmp";
}

// True for a folder of ours whose supervisor is dead.
bool is_left_behind(const fs::path& folder) {
  const std::string name = folder.filename().string();
  struct stat info {};
  if (!name.starts_with(kPrefix) || ::lstat(folder.c_str(), &info) != 0) return false;
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) return false;
  pid_t pid = 0;
  const char* digits = name.data() + kPrefix.size();
  const auto [end, error] = std::from_chars(digits, name.data() + name.size(), pid);
  if (error != std::errc{} || end == name.data() + name.size() || *end != '-') return false;
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

void sweep(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (is_left_behind(entry.path())) fs::remove_all(entry.path(), ignored);
  }
}

json to_json(const RunOptions& options) {
  json target;
  if (options.target) target = to_text(*options.target);
  return {{"config", options.config.text},
          {"study", options.config.study},
          {"storage", fs::absolute(options.storage).string()},
          {"budget", options.budget},
          {"if_exists", static_cast<int>(options.if_exists)},
          {"resume", options.resume},
          {"retry_failed", options.retry_failed},
          {"workers", options.workers},
          {"group_size", options.group_size},
          {"backend", options.backend},
          {"target", target},
          {"progress", static_cast<int>(options.progress)},
          {"color", options.color},
          {"log_level", static_cast<int>(options.log.level)},
          {"log_file", options.log.file}};
}

Result<RunOptions> from_json(const json& j) {
  RunOptions options;
  DETOL_ASSIGN(options.config, load_study_config(j.at("config").get<std::string>(), "study"));
  options.config.study = j.at("study").get<std::string>();
  options.storage = j.at("storage").get<std::string>();
  options.budget = j.at("budget").get<std::string>();
  options.if_exists = static_cast<IfExists>(j.at("if_exists").get<int>());
  options.resume = j.at("resume").get<bool>();
  options.retry_failed = j.at("retry_failed").get<bool>();
  options.workers = j.at("workers").get<int>();
  options.group_size = j.at("group_size").get<int>();
  options.backend = j.at("backend").get<std::string>();
  if (j.at("target").is_string()) {
    DETOL_ASSIGN(options.target, parse_target(j.at("target").get<std::string>()));
  }
  options.progress = static_cast<ProgressMode>(j.at("progress").get<int>());
  options.color = j.at("color").get<bool>();
  options.log.level = static_cast<LogLevel>(j.at("log_level").get<int>());
  options.log.file = j.at("log_file").get<std::string>();
  return options;
}

fs::path last_word_in(const fs::path& folder, int worker) {
  return folder / fmt::format("worker-{}.word", worker);
}

tl::unexpected<Error> damaged(const fs::path& path, const char* why) {
  return fail(ErrorCode::kInternal, fmt::format("{}: {}", path.string(), why));
}

}  // namespace

Result<fs::path> make_run_folder(const RunOptions& options) {
  const fs::path parent = parent_folder();
  sweep(parent);
  std::string name = (parent / fmt::format("{}{}-XXXXXX", kPrefix, ::getpid())).string();
  if (::mkdtemp(name.data()) == nullptr) {
    return fail(ErrorCode::kStorage, fmt::format("cannot make a folder in {}: {}", parent.string(),
                                                 std::generic_category().message(errno)));
  }
  DETOL_TRY(write_file_durably(fs::path(name) / "run.json", to_json(options).dump()));
  return fs::path(name);
}

Result<RunOptions> read_options(const fs::path& folder) {
  const fs::path path = folder / "run.json";
  DETOL_ASSIGN(const std::string text, read_file(path));
  try {
    return from_json(json::parse(text));
  } catch (const json::exception& error) {
    return damaged(path, error.what());
  }
}

Result<void> write_settled(const fs::path& folder, const Settled& settled) {
  return write_file_durably(folder / "settled.json",
                            json{{"study", settled.study}, {"budget", settled.budget}}.dump());
}

Result<std::optional<Settled>> read_settled(const fs::path& folder) {
  const fs::path path = folder / "settled.json";
  if (!fs::exists(path)) return std::optional<Settled>();
  DETOL_ASSIGN(const std::string text, read_file(path));
  try {
    const json j = json::parse(text);
    return Settled{j.at("study").get<std::string>(), j.at("budget").get<std::string>()};
  } catch (const json::exception& error) {
    return damaged(path, error.what());
  }
}

void leave_last_word(const fs::path& folder, int worker, const std::string& word) {
  const fs::path path = last_word_in(folder, worker);
  if (!fs::exists(path)) std::ofstream(path) << word;
}

std::string take_last_word(const fs::path& folder, int worker) {
  const fs::path path = last_word_in(folder, worker);
  std::string word;
  std::getline(std::ifstream(path), word);
  std::error_code ignored;
  fs::remove(path, ignored);
  return word;
}

fs::path aside_in(const fs::path& folder) {
  return folder / "stderr";
}

std::string endpoint_in(const fs::path& folder) {
  return "ipc://" + (folder / "master.sock").string();
}

}  // namespace detol

#include "scheduler/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/clock.h"
#include "core/file.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kLongestParent = 60;  // a socket's path has 107 characters at most
constexpr std::string_view kPrefix = "detol-";
const fs::path kMemory = "/dev/shm";  // NOLINT(cert-err58-cpp)

fs::path parent_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");  // NOLINT(concurrency-mt-unsafe)
  if (runtime == nullptr || std::strlen(runtime) > kLongestParent) return "/tmp";
  return ::access(runtime, W_OK | X_OK) == 0 ? runtime : "/tmp";
}

// detol-<digits>-...
bool has_our_name(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kPrefix)) return false;
  const std::size_t dash = name.find_first_not_of("0123456789", kPrefix.size());
  return dash != std::string::npos && dash > kPrefix.size() && name[dash] == '-';
}

// The lock on a folder of ours, or -1 if somebody holds it or it is not ours.
int lock(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat info {};
  const bool is_ours = fd >= 0 && ::fstat(fd, &info) == 0 && info.st_uid == ::geteuid();
  if (is_ours && ::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

void sweep(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (!has_our_name(entry.path())) continue;
    const int fd = lock(entry.path());
    if (fd < 0) continue;
    fs::remove_all(entry.path(), ignored);
    ::close(fd);
  }
}

// Makes `path` and locks it before it has a name that others sweep; -1: it cannot be.
int make_locked(const fs::path& path) {
  std::string name = (path.parent_path() / fmt::format(".{}XXXXXX", kPrefix)).string();
  if (::mkdtemp(name.data()) == nullptr) return -1;
  const int fd = lock(name);
  if (fd >= 0 && ::rename(name.c_str(), path.c_str()) == 0) return fd;
  ::rmdir(name.c_str());
  if (fd >= 0) ::close(fd);
  return -1;
}

// Nobody else chooses the same: the clock moves on between two runs of one process.
std::string fresh_name() {
  const auto now_us = static_cast<std::uint64_t>(system_clock().now_s() * 1e6);
  return fmt::format("{}{}-{:x}", kPrefix, ::getpid(), now_us);
}

json to_json(const RunOptions& options) {
  json target, gpus = json::array();
  for (const Gpu& gpu : options.gpus)
    gpus.push_back({{"id", gpu.id}, {"name", gpu.name}, {"memory", gpu.memory}});
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
          {"rendezvous", options.rendezvous.string()},
          {"backend", options.backend},
          {"gpus", gpus},
          {"sharing", options.sharing},
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
  options.rendezvous = j.at("rendezvous").get<std::string>();
  options.backend = j.at("backend").get<std::string>();
  options.sharing = j.at("sharing").get<int>();
  for (const json& gpu : j.at("gpus"))
    options.gpus.push_back({gpu.at("id"), gpu.at("name"), gpu.at("memory")});
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

Result<RunFolder> RunFolder::make(const RunOptions& options) {
  const fs::path parent = parent_folder();
  sweep(parent);
  sweep(kMemory);
  const fs::path path = parent / fresh_name();
  RunFolder folder;
  folder.lock_ = make_locked(path);
  if (folder.lock_ < 0) {
    return fail(ErrorCode::kStorage, fmt::format("cannot make a folder in {}: {}", parent.string(),
                                                 std::generic_category().message(errno)));
  }
  folder.path_ = path;
  folder.memory_lock_ = make_locked(memory_of(path));
  DETOL_TRY(write_file_durably(path / "run.json", to_json(options).dump()));
  return folder;
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      lock_(std::exchange(other.lock_, -1)),
      memory_lock_(std::exchange(other.memory_lock_, -1)) {}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (memory_lock_ >= 0) fs::remove_all(memory_of(path_), ignored);
  if (!path_.empty()) fs::remove_all(path_, ignored);
  for (const int fd : {lock_, memory_lock_}) {
    if (fd >= 0) ::close(fd);
  }
}

fs::path memory_of(const fs::path& folder) {
  return kMemory / folder.filename();
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

Result<double> wall_zero_s(const fs::path& folder, double used_s, double now_s) {
  const fs::path path = folder / "clock.json";
  if (!fs::exists(path)) DETOL_TRY(write_file_durably(path, json(now_s - used_s).dump()));
  DETOL_ASSIGN(const std::string text, read_file(path));
  const json zero = json::parse(text, nullptr, false);
  if (!zero.is_number()) return damaged(path, "not a number");
  return zero.get<double>();
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

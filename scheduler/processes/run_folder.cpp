#include "scheduler/processes/run_folder.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/json_text.h"
#include "core/utf8.h"

namespace detol::inline scheduler {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kLongestPlace = 60;  // a socket's path has 107 characters at most
constexpr const char* kMemory = "/dev/shm";

// Returns the folders in which a run folder may lie, the best first.
std::vector<fs::path> places() {
  std::vector<fs::path> places;
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    const fs::path place = value == nullptr ? "" : value;
    const bool is_short = place.native().size() <= kLongestPlace;
    if (place.is_absolute() && is_short && is_utf8(place.native())) places.push_back(place);
  }
  places.insert(places.end(), {"/tmp", "/var/tmp"});
  return places;
}

Result<MarkedFolder> make_in_first_usable_place() {
  std::string reasons;
  for (const fs::path& place : places()) {
    auto folder = MarkedFolder::make(place);
    if (folder) return folder;
    reasons += folder.error().message + "; ";
  }
  return fail(ErrorCode::kStorage, reasons + "set TMPDIR to a folder of your own");
}

json to_json(const RunOptions& options) {
  json target, gpus = json::array();
  for (const Gpu& gpu : options.gpus)
    gpus.push_back({{"id", gpu.id}, {"name", gpu.name}, {"memory", gpu.memory}});
  if (options.target) target = to_text(*options.target);
  return {{"config", options.config.text},
          {"study", options.config.study},
          {"storage", fs::absolute(options.storage).string()},
          {"budget", options.budget ? to_text(*options.budget) : ""},
          {"if_exists", static_cast<int>(options.if_exists)},
          {"resume", options.resume},
          {"retry_failed", options.retry_failed},
          {"workers", options.workers},
          {"group_size", options.group_size},
          {"rendezvous", options.rendezvous.string()},
          {"launcher", static_cast<int>(options.launcher)},
          {"listens_to_network", options.listens_to_network},
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
  DETOL_ASSIGN(options.budget, parse_budget_change(j.at("budget").get<std::string>()));
  options.if_exists = static_cast<IfExists>(j.at("if_exists").get<int>());
  options.resume = j.at("resume").get<bool>();
  options.retry_failed = j.at("retry_failed").get<bool>();
  options.workers = j.at("workers").get<int>();
  options.group_size = j.at("group_size").get<int>();
  options.rendezvous = j.at("rendezvous").get<std::string>();
  options.launcher = static_cast<Launcher>(j.at("launcher").get<int>());
  options.listens_to_network = j.at("listens_to_network").get<bool>();
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

fs::path exit_reason_in(const fs::path& folder, int worker) {
  return folder / fmt::format("worker-{}.exit_reason", worker);
}

tl::unexpected<Error> damaged(const fs::path& path, const char* why) {
  return fail(ErrorCode::kInternal, fmt::format("{}: {}", path.string(), why));
}

}  // namespace

Result<RunFolder> RunFolder::make(const RunOptions& options) {
  return make_with("run.json", compact(to_json(options)));
}

Result<RunFolder> RunFolder::make_with(const std::string& name, const std::string& text) {
  DETOL_ASSIGN(MarkedFolder folder, make_in_first_usable_place());
  DETOL_TRY(write_file_durably(folder.path() / name, text));
  auto memory = MarkedFolder::make(kMemory);
  return RunFolder(std::move(folder),
                   memory ? std::optional(std::move(*memory)) : std::optional<MarkedFolder>());
}

RunFolder::RunFolder(MarkedFolder folder, std::optional<MarkedFolder> memory)
    : folder_(std::move(folder)), memory_(std::move(memory)) {}

fs::path RunFolder::memory() const {
  return memory_ ? memory_->path() : fs::path();
}

Result<RunOptions> read_options(const fs::path& folder) {
  const fs::path path = folder / "run.json";
  DETOL_ASSIGN(const std::string text, read_file(path));
  try {
    return from_json(json_or_discarded(text));
  } catch (const json::exception& error) {
    return damaged(path, error.what());
  }
}

Result<void> write_resolved_run(const fs::path& folder, const ResolvedStudy& resolved) {
  return write_file_durably(folder / "resolved.json", compact(json{{"study", resolved.study},
                                                                   {"budget", resolved.budget},
                                                                   {"config", resolved.config}}));
}

Result<std::optional<ResolvedStudy>> read_resolved_run(const fs::path& folder) {
  const fs::path path = folder / "resolved.json";
  if (!fs::exists(path)) return std::optional<ResolvedStudy>();
  DETOL_ASSIGN(const std::string text, read_file(path));
  try {
    const json j = json_or_discarded(text);
    return ResolvedStudy{j.at("study").get<std::string>(), j.at("budget").get<std::string>(),
                         j.at("config").get<std::string>()};
  } catch (const json::exception& error) {
    return damaged(path, error.what());
  }
}

Result<double> wall_zero_s(const fs::path& folder, double used_s, double now_s) {
  const fs::path path = folder / "clock.json";
  if (!fs::exists(path)) DETOL_TRY(write_file_durably(path, compact(json(now_s - used_s))));
  DETOL_ASSIGN(const std::string text, read_file(path));
  const json zero = json_or_discarded(text);
  if (!zero.is_number()) return damaged(path, "not a number");
  return zero.get<double>();
}

void write_exit_reason(const fs::path& folder, int worker, const std::string& reason) {
  const fs::path path = exit_reason_in(folder, worker);
  if (!fs::exists(path)) std::ofstream(path) << reason;
}

std::string take_exit_reason(const fs::path& folder, int worker) {
  const fs::path path = exit_reason_in(folder, worker);
  std::string reason;
  std::getline(std::ifstream(path), reason);
  std::error_code ignored;
  fs::remove(path, ignored);
  return reason;
}

Result<void> write_joined(const fs::path& folder, const std::vector<std::string>& ids) {
  return write_file_durably(folder / "joined.json", compact(json(ids)));
}

std::vector<std::string> read_joined(const fs::path& folder) {
  const auto text = read_file(folder / "joined.json");
  const json ids = text ? json_or_discarded(*text) : json();
  std::vector<std::string> joined;
  for (const json& id : ids.is_array() ? ids : json::array())
    if (id.is_string()) joined.push_back(id.get<std::string>());
  return joined;
}

fs::path suspension_file_in(const fs::path& folder) {
  return folder / "suspended";
}

fs::path stderr_file_in(const fs::path& folder) {
  return folder / "stderr";
}

std::string endpoint_in(const fs::path& folder) {
  return "ipc://" + (folder / "master.sock").string();
}

}  // namespace detol::inline scheduler

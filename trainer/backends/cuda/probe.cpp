#include "trainer/backends/cuda/probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/child_process.h"
#include "core/clock.h"
#include "core/exit_code.h"
#include "core/json_text.h"
#include "core/program.h"
#include "trainer/backends/cuda/load.h"

namespace detol::inline trainer {
namespace {

using nlohmann::json;

constexpr const char* kWord = "__devices";
constexpr double kLimitS = 60;

json to_json(const DeviceInfo& device) {
  return {{"name", device.name},
          {"uuid", device.uuid},
          {"major", device.major},
          {"minor", device.minor},
          {"multiprocessors", device.multiprocessors},
          {"memory", device.memory},
          {"free_memory", device.free_memory}};
}

DeviceInfo device_from(const json& j) {
  return {.name = j.at("name"),
          .uuid = j.at("uuid"),
          .major = j.at("major"),
          .minor = j.at("minor"),
          .multiprocessors = j.at("multiprocessors"),
          .memory = j.at("memory"),
          .free_memory = j.at("free_memory")};
}

json to_json(const Result<CudaReport>& report) {
  if (!report) return {{"error", report.error().message}};
  json devices = json::array();
  for (const DeviceInfo& device : report->devices) devices.push_back(to_json(device));
  return {{"devices", devices},     {"driver", report->driver}, {"runtime", report->runtime},
          {"cudnn", report->cudnn}, {"cublas", report->cublas}, {"nccl", report->nccl}};
}

Result<CudaReport> report_from(const json& j) {
  if (j.contains("error")) return fail(ErrorCode::kUsage, j.at("error"));
  CudaReport report{.devices = {},
                    .driver = j.at("driver"),
                    .runtime = j.at("runtime"),
                    .cudnn = j.at("cudnn"),
                    .cublas = j.at("cublas"),
                    .nccl = j.at("nccl")};
  for (const json& device : j.at("devices")) report.devices.push_back(device_from(device));
  return report;
}

// Child: a process, and the pipe from its standard output.
struct Child {
  pid_t pid = -1;
  int output = -1;
};

// Starts the probe, and drops its standard error, to which drivers print much.
Child start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string words[] = {"detol", kWord};
  char* argv[] = {words[0].data(), words[1].data(), nullptr};
  Child child{.pid = -1, .output = ends[0]};
  if (::posix_spawn(&child.pid, program_path().c_str(), &actions, nullptr, argv, environ) != 0)
    child.pid = -1;
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  return child;
}

// Returns what the child writes before it ends or kLimitS have passed.
std::string read_all(int fd) {
  const double limit_s = system_clock().now_s() + kLimitS;
  std::string text;
  char bytes[4096];
  for (double left_s = kLimitS; left_s > 0; left_s = limit_s - system_clock().now_s()) {
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(left_s * 1000)) <= 0) continue;
    const ssize_t count = ::read(fd, bytes, sizeof bytes);
    if (count <= 0) break;
    text.append(bytes, static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

Result<CudaReport> probe_cuda() {
  if (!has_cuda_library()) return cuda_report();
  const Child child = start();
  const std::string text = child.pid > 0 ? read_all(child.output) : std::string();
  if (child.output >= 0) ::close(child.output);
  if (child.pid > 0) {
    ::kill(child.pid, SIGKILL);  // it may hang
    wait_for_end(child.pid);
  }
  const json answer = json_or_discarded(text);
  if (answer.is_object()) return report_from(answer);
  return fail(ErrorCode::kUsage,
              "the process that looked for GPUs crashed or hung; see nvidia-smi and dmesg");
}

std::optional<int> run_cuda_probe(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) != kWord) return std::nullopt;
  const int answer = ::dup(STDOUT_FILENO);  // a copy, as libraries may print to stdout
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  const std::string text = compact(to_json(cuda_report()));
  [[maybe_unused]] const auto written = ::write(answer, text.data(), text.size());
  ::_exit(kExitDone);  // skips the exit handlers of drivers
}

}  // namespace detol::inline trainer

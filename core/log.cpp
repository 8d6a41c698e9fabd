#include "core/log.h"

#include <fcntl.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>

#include "core/utf8.h"

namespace detol::inline core {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::shared_ptr<spdlog::logger> make_logger(const LogOptions& options) {
  auto terminal = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  terminal->set_pattern("%v");
  terminal->set_level(to_spdlog(options.level));
  auto logger = std::make_shared<spdlog::logger>("detol", terminal);
  if (!options.file.empty()) {
    auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
    file->set_pattern("%Y-%m-%dT%H:%M:%S.%e %P %l %v");
    logger->sinks().push_back(file);
  }
  logger->set_level(options.file.empty() ? to_spdlog(options.level) : spdlog::level::debug);
  logger->flush_on(spdlog::level::debug);
  return logger;
}

std::shared_ptr<spdlog::logger>& logger() {
  static std::shared_ptr<spdlog::logger> instance = make_logger({});
  return instance;
}

// Warned: the warnings so far, if equal ones are printed once.
struct Warned {
  std::mutex mutex;
  bool once = false;
  std::set<std::string, std::less<>> lines;
};

Warned& warned() {
  static Warned instance;
  return instance;
}

// Escapes control characters of text from outside, such as a space file, but keeps its lines.
std::string without_controls(std::string_view text) {
  std::string lines = printable(text.substr(0, text.find('\n')));
  for (std::size_t end = text.find('\n'); end != std::string_view::npos;) {
    text.remove_prefix(end + 1);
    end = text.find('\n');
    lines += "\n" + printable(text.substr(0, end));
  }
  return lines;
}

bool is_repeated(std::string_view warning) {
  constexpr std::size_t kMost = 1000;
  const std::scoped_lock lock(warned().mutex);
  auto& lines = warned().lines;
  if (!warned().once || lines.size() >= kMost) return false;
  return !lines.emplace(warning).second;
}

}  // namespace

Result<void> set_up_log(const LogOptions& options) {
  try {
    logger() = make_logger(options);
  } catch (const spdlog::spdlog_ex& error) {
    return fail(ErrorCode::kStorage,
                fmt::format("cannot write the log file {}: {}", options.file, error.what()));
  }
  const std::scoped_lock lock(warned().mutex);
  warned().once = options.once;
  warned().lines.clear();
  return {};
}

void log_line(LogLevel level, std::string_view line) {
  const std::string clean = without_controls(line);
  if (level == LogLevel::kWarning && is_repeated(clean)) level = LogLevel::kDebug;
  logger()->log(to_spdlog(level), fmt::string_view(clean.data(), clean.size()));
}

Result<StderrRedirect> StderrRedirect::into(const std::string& file) {
  const int file_fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int before = file_fd < 0 ? -1 : ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  const bool done = before >= 0 && ::dup2(file_fd, STDERR_FILENO) >= 0;
  const int error = errno;
  if (file_fd >= 0) ::close(file_fd);
  if (done) return StderrRedirect(before);
  if (before >= 0) ::close(before);
  return fail(ErrorCode::kStorage,
              fmt::format("cannot write {}: {}", file, std::generic_category().message(error)));
}

StderrRedirect::~StderrRedirect() {
  if (before_ < 0) return;
  ::dup2(before_, STDERR_FILENO);
  ::close(before_);
}

}  // namespace detol::inline core

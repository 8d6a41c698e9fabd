#pragma once

// Log lines for people, on stderr (never stdout, which is data only) and optionally
// in a file. Thread-safe. Only log.cpp includes spdlog.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"

namespace detol::inline core {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  std::string file;   // also append here, with time and pid; empty: no file
  bool once = false;  // print equal warnings once on stderr; the file gets all
};

// Sets up the log, once, at the start. Not thread-safe. Errors (kStorage): the file cannot be
// written.
Result<void> set_up_log(const LogOptions& options);

// StderrRedirect: while one lives, stderr of this process and its children is appended to a file,
// so that no other output breaks the frames on a terminal. Not thread-safe.
class StderrRedirect {
 public:
  // Redirects stderr. Errors (kStorage): the file cannot be written; stderr is as before.
  static Result<StderrRedirect> into(const std::string& file);
  StderrRedirect(StderrRedirect&& other) noexcept : before_(std::exchange(other.before_, -1)) {}
  StderrRedirect& operator=(StderrRedirect&&) = delete;
  ~StderrRedirect();  // restores stderr

  int before() const { return before_; }  // a descriptor of the former stderr; closed on exec

 private:
  explicit StderrRedirect(int before) : before_(before) {}

  int before_ = -1;
};

void log_line(LogLevel level, std::string_view line);

template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace detol::inline core

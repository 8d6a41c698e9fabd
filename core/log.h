#pragma once

// Log lines for people, on stderr (never stdout, which is data only) and optionally
// in a file. Thread-safe. spdlog stays behind this header.

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "core/result.h"

namespace detol {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  std::string file;  // also append here, with time and process id; empty: nowhere
};

// Not thread-safe: once, at the start. Errors (kStorage): the file cannot be written.
Result<void> set_up_log(const LogOptions& options);

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

}  // namespace detol

#include "core/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace detol {
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

}  // namespace

Result<void> set_up_log(const LogOptions& options) {
  try {
    logger() = make_logger(options);
  } catch (const spdlog::spdlog_ex& error) {
    return fail(ErrorCode::kStorage,
                fmt::format("cannot write the log file {}: {}", options.file, error.what()));
  }
  return {};
}

void log_line(LogLevel level, std::string_view line) {
  logger()->log(to_spdlog(level), fmt::string_view(line.data(), line.size()));
}

}  // namespace detol

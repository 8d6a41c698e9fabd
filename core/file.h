#pragma once

// Reads whole files, and writes files that are whole or absent, never half written.

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace detol::inline core {

// Reads a whole regular file (open_regular_file). Errors (kInput) name the path and the reason.
// Refuses a file of more than `limit_bytes` before reading it.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t limit_bytes = std::size_t{1} << 34);

// Reads a regular file, or a pipe such as a shell's <(...) until its writers have closed it. Errors
// (kInput) include a pipe that was not closed within `wait_s` seconds.
Result<std::string> read_file_or_pipe(const std::filesystem::path& path, std::size_t limit_bytes,
                                      double wait_s);

// Writes a file beside `path`, fsyncs, renames over `path` and fsyncs the folder, so that a crash
// at any instant leaves the old file or the new one (core/durable_file.h). `mode` holds from the
// first instant: 0600 keeps a secret. Errors (kStorage) name the path and the reason, and leave no
// temporary file.
Result<void> write_file_durably(const std::filesystem::path& path, std::string_view bytes,
                                mode_t mode = 0644);

// Returns true if the error's system_error is a full or read-only disk, a quota or a limit on the
// size of files: the same write may succeed later.
bool may_succeed_later(const Error& error);

}  // namespace detol::inline core

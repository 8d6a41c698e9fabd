#pragma once

// Descriptor: an owned file descriptor, which the destructor closes.

#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/result.h"

namespace detol::inline core {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&&) = delete;

  int get() const { return fd_; }

 private:
  int fd_;  // negative: none
};

// Opens a regular file to read. It never waits, as for the writer of a pipe, and refuses folders,
// pipes, devices and sockets, so that everything detol reads has an end. Errors (`code`): the path,
// and what it is or the reason.
Result<Descriptor> open_regular_file(const std::filesystem::path& path,
                                     ErrorCode code = ErrorCode::kInput);

// Opens a regular file or a pipe, such as <(...) and /dev/stdin of a shell. Reads of a pipe do not
// wait, either (O_NONBLOCK).
Result<Descriptor> open_regular_file_or_pipe(const std::filesystem::path& path,
                                             ErrorCode code = ErrorCode::kInput);

// Checks a path for libraries that open files themselves. Errors (`code`): there is something at
// `path` that is no regular file.
Result<void> check_regular_file(const std::filesystem::path& path,
                                ErrorCode code = ErrorCode::kInput);

// Returns the error "cannot <verb> <path>: <why>". `reason`, or errno without it, is its
// system_error and gives <why>.
tl::unexpected<Error> cannot(std::string_view verb, const std::filesystem::path& path,
                             ErrorCode code);
tl::unexpected<Error> cannot(std::string_view verb, const std::filesystem::path& path,
                             ErrorCode code, const std::error_code& reason);

}  // namespace detol::inline core
